package wire

import (
	"strconv"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// An Envelope is what surrounds the flags of a response.
type Envelope struct {
	// RequestID is echoed as requestId.
	RequestID string

	// EvaluatedAt is the moment of evaluation. It is written in milliseconds.
	EvaluatedAt time.Time

	// Partial says that stored data could not be read. It makes
	// errorsWhileComputingFlags true even if every flag could be computed.
	Partial bool

	// QuotaLimited names the quotas that are used up. Empty: it is left out.
	QuotaLimited []string

	// Config is the client configuration: rendered members of a JSON object
	// without its braces, such as `"config":{},"isAuthenticated":false`. It is
	// copied as it is. Empty: there is none.
	Config []byte

	// EventStreams are the streams that tell of changes, as the JSON of the member
	// of that name (wire.md §7.4). It is copied as it is, into answers of OpenFeature's
	// remote evaluation protocol for all flags alone. Empty: there are none.
	EventStreams []byte
}

// AppendResponse evaluates the flags that the request may see and appends the
// response of POST /flags?v=2. Without a snapshot there are no flags, and
// errorsWhileComputingFlags says so. in is used only with a snapshot, for which
// it must have been filled.
func AppendResponse(dst []byte, s *flags.Snapshot, in *flags.Input, e Envelope) ([]byte, flags.Outcome) {
	out := flags.Outcome{Partial: true}
	dst = append(dst, `{"flags":`...)
	if s == nil {
		dst = append(dst, `{}`...)
	} else {
		dst, out = in.AppendFlags(dst)
	}
	out.Partial = out.Partial || e.Partial
	return e.append(dst, out.Partial, s), out
}

// appendRecords is AppendResponse in the form V3.
func appendRecords(dst []byte, s *flags.Snapshot, in *flags.Input, e Envelope) ([]byte, flags.Outcome) {
	out := flags.Outcome{Partial: true}
	dst = append(dst, `{"flags":`...)
	if s == nil {
		dst = append(dst, `{}`...)
	} else {
		dst, out = in.AppendRecords(dst)
	}
	out.Partial = out.Partial || e.Partial
	return e.append(dst, out.Partial, s), out
}

// append appends what follows the flags.
func (e *Envelope) append(dst []byte, partial bool, s *flags.Snapshot) []byte {
	dst = append(dst, `,"errorsWhileComputingFlags":`...)
	dst = strconv.AppendBool(dst, partial)
	if len(e.QuotaLimited) > 0 {
		dst = append(dst, `,"quotaLimited":[`...)
		for i, name := range e.QuotaLimited {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = text.AppendQuoted(dst, name)
		}
		dst = append(dst, ']')
	}
	dst = append(dst, `,"requestId":`...)
	dst = text.AppendQuoted(dst, e.RequestID)
	dst = append(dst, `,"evaluatedAt":`...)
	dst = strconv.AppendInt(dst, e.EvaluatedAt.UnixMilli(), 10)
	if s != nil && s.MinimalFlagCalledEvents() {
		dst = append(dst, `,"minimalFlagCalledEvents":true`...)
	}
	if len(e.Config) > 0 {
		dst = append(dst, ',')
		dst = append(dst, e.Config...)
	}
	return append(dst, '}')
}
