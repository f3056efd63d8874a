package answered

import "net/http"

// A Writer passes an answer on and notes what is in it.
type Writer struct {
	http.ResponseWriter
	Status int   // 0 as long as nothing is answered
	Bytes  int64 // of the body
}

// Unwrap is for [http.ResponseController].
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (w *Writer) WriteHeader(status int) {
	if w.Status == 0 && status >= http.StatusOK { // others come before the answer
		w.Status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *Writer) Write(b []byte) (int, error) {
	if w.Status == 0 {
		w.Status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.Bytes += int64(n)
	return n, err
}

// Returned notes that the handler has returned: without an answer of its own, the status
// is then 200, as of net/http.
func (w *Writer) Returned() {
	if w.Status == 0 {
		w.Status = http.StatusOK
	}
}
