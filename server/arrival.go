package server

import (
	"io"
	"net/http"
	"time"
)

// Bodies and answers may take any time as long as they move: minProgress bytes within
// progressTime. The deadlines of the [http.Server] hold until the first of these.
const (
	minProgress  = 4 << 10 // bytes
	progressTime = 10 * time.Second
)

// An arrival is the body of a request while it arrives.
type arrival struct {
	body     io.Reader    // nil: there is none
	deadline readDeadline // nil: cannot be set
	length   int64        // that the client has promised, -1: it has not
	n        int64        // bytes that have arrived
	ended    bool         // all has arrived

	// The client has this much time for the next bytes, without the time in which
	// nobody waits for them.
	left  time.Duration
	moved int64 // bytes since left was progressTime
}

// readDeadline is what connections of net/http offer besides [http.ResponseWriter],
// and writeDeadline is the same for answers.
type (
	readDeadline  interface{ SetReadDeadline(time.Time) error }
	writeDeadline interface{ SetWriteDeadline(time.Time) error }
)

// deadlineOf returns the connection behind the middleware of the host application.
// [http.ResponseController] would make an error where there is none.
func deadlineOf[D any](w http.ResponseWriter) (none D) {
	for {
		switch v := w.(type) {
		case D:
			return v
		case interface{ Unwrap() http.ResponseWriter }:
			w = v.Unwrap()
		default:
			return none
		}
	}
}

func newArrival(w http.ResponseWriter, r *http.Request) arrival {
	a := arrival{length: r.ContentLength, left: progressTime, ended: true}
	if r.Body != nil && r.Body != http.NoBody {
		a.body, a.deadline, a.ended = r.Body, deadlineOf[readDeadline](w), false
	}
	return a
}

// Read implements [io.Reader].
func (a *arrival) Read(b []byte) (int, error) {
	if a.ended { // net/http has taken back the deadline
		return 0, io.EOF
	}
	if a.deadline == nil {
		return a.count(a.body.Read(b))
	}
	begin := time.Now()
	a.deadline.SetReadDeadline(begin.Add(a.left))
	n, err := a.count(a.body.Read(b))
	if a.moved += int64(n); a.moved >= minProgress {
		a.left, a.moved = progressTime, 0
	} else {
		a.left -= time.Since(begin)
	}
	return n, err
}

func (a *arrival) count(n int, err error) (int, error) {
	a.n += int64(n)
	a.ended = err == io.EOF
	return n, err
}

// Close implements [io.Closer] for [http.MaxBytesReader]. net/http closes bodies.
func (a *arrival) Close() error { return nil }

// isLong reports whether a refusal must not wait for the rest of a body. net/http
// reads short rests, so that the connection can be used again.
func (a *arrival) isLong(r *http.Request) bool {
	const short = 64 << 10
	return !a.ended && r.ProtoMajor == 1 && (a.length < 0 || a.length-a.n > short)
}

// How much of a refused body is read, so that the client gets the answer: a client
// that sends all before it reads would otherwise find the connection reset.
const (
	maxRefused     = 256 << 20 // bytes
	maxRefusedTime = 10 * time.Second
)

// discard reads the rest of a refused body, after the answer.
func (x *exchange) discard() {
	a := &x.body.in
	if a.ended || x.r.ProtoMajor != 1 || x.r.Header.Get("Expect") != "" && a.n == 0 {
		return // the client has waited for the answer
	}
	x.body.drop()
	if http.NewResponseController(x.w).Flush() != nil {
		return
	}
	buffer := make([]byte, 8<<10)
	end, most := time.Now().Add(maxRefusedTime), a.n+maxRefused
	for a.n < most && time.Now().Before(end) {
		if _, err := a.Read(buffer); err != nil {
			return
		}
	}
}

// prolong gives the answer to a request that has taken long the time of another one.
func (x *exchange) prolong() {
	const long = 5 * time.Second
	if time.Since(x.start) < long {
		return
	}
	if deadline := deadlineOf[writeDeadline](x.w); deadline != nil {
		deadline.SetWriteDeadline(time.Now().Add(progressTime))
	}
}

// write writes a part of an answer. Its errors are about the client, who has gone.
func (x *exchange) write(b []byte) (int, error) {
	const piece = 32 << 10 // bytes, which are written at once
	if len(b) <= piece && !x.streams {
		return x.w.Write(b)
	}
	deadline := deadlineOf[writeDeadline](x.w)
	if deadline == nil {
		return x.w.Write(b)
	}
	written := 0
	for len(b) > 0 {
		p := b[:min(len(b), piece)]
		deadline.SetWriteDeadline(time.Now().Add(progressTime * time.Duration((len(p)+minProgress-1)/minProgress)))
		n, err := x.w.Write(p)
		written += n
		if err != nil {
			return written, err
		}
		b = b[len(p):]
	}
	return written, nil
}
