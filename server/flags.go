package server

import (
	"errors"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/subject"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/internal/text"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// flags answers POST /flags (api.md §4).
func (s *Server) flags(x *exchange) error { return s.evaluate(x, false) }

// decide answers POST /decide, the older name. Its answers have older forms and
// include the client configuration unless the query says otherwise.
func (s *Server) decide(x *exchange) error { return s.evaluate(x, true) }

// parseQuery reads the query.
func (x *exchange) parseQuery() error {
	err := x.query.Parse(x.r.URL.RawQuery)
	if e, ok := errors.AsType[*wire.QueryError](err); ok {
		return &parameterError{e.Name, e.Value, text.Bools}
	}
	return err
}

var quotaLimited = []string{"feature_flags"}

// evaluate answers /flags and /decide. It checks in the order of evaluation.md
// §11.5.
func (s *Server) evaluate(x *exchange, decide bool) error {
	if err := s.takeIP(x); err != nil {
		return err
	}
	if err := x.parseQuery(); err != nil {
		return err
	}
	form := wire.FlagsForm(x.query.Version)
	if decide {
		form = wire.DecideForm(x.query.Version)
		x.query.Config = x.query.Config || !x.query.HasConfig
	}
	err := x.body.parse(x.r, x.query.Compression, &x.req)
	if x.req.APIKey != "" {
		if err := s.limiters.byKey.take(x.w.Header(), limitedKey(x.req.APIKey), x.start); err != nil {
			return err
		}
	}
	switch {
	case err != nil:
		return err
	case x.req.APIKey == "":
		return errNoAPIKey
	}
	p, err := s.projectOf(x, x.req.APIKey)
	if err != nil {
		return err
	}
	p.requested(x.start)

	e := wire.Envelope{RequestID: x.requestID(), EvaluatedAt: x.start}
	if x.query.Config {
		e.Config = p.ClientConfig.block(decide)
	}
	switch {
	case x.req.DisableFlags:
		x.out = wire.AppendEmpty(x.out[:0], form, e)
	case !x.req.HasDistinctID:
		return errNoPerson
	case s.config.Quota != nil && !s.config.Quota.Take(p.Organization, 1):
		s.metrics.limited.Inc()
		e.QuotaLimited = quotaLimited
		x.out = wire.AppendEmpty(x.out[:0], form, e)
	default:
		if err := s.appendFlags(x, form, p, e); err != nil {
			return err
		}
	}
	return x.respondOut()
}

// appendFlags evaluates the project's flags and writes the answer to x.out.
func (s *Server) appendFlags(x *exchange, form wire.Form, p *Project, e wire.Envelope) error {
	snapshot := p.snapshot()
	if snapshot != nil {
		var kind runtime.Kind
		if !x.req.HasRuntime {
			kind = s.detector.Detect(runtime.SignalsOf(x.r.Header))
		}
		complete, err := s.fill(x, p, snapshot, kind)
		if err != nil {
			return err
		}
		e.Partial = !complete
		if x.req.HasKeys {
			s.countUnknown(p, snapshot, x.req.Keys)
		}
	}
	var out flags.Outcome
	switch {
	case (form == wire.V2 || form == wire.V3) && x.query.Detailed:
		x.out, out = wire.AppendDetailed(x.out[:0], form, snapshot, &x.in, e)
	case form == wire.V2:
		x.out, out = wire.AppendResponse(x.out[:0], snapshot, &x.in, e)
	default:
		x.out, out = wire.AppendLegacy(x.out[:0], form, snapshot, &x.in, e)
	}
	if snapshot != nil {
		s.metrics.evaluations.add(p.ID, snapshot, &x.in, out.Flags, &x.shard)
	}
	s.metrics.evaluated.Add(float64(out.Flags))
	return nil
}

// countUnknown counts the keys that no flag has. The Evaluator of the project remembers some
// of them, and whoever made it hears of each.
func (s *Server) countUnknown(p *Project, snapshot *flags.Snapshot, keys []string) {
	for _, key := range keys {
		if !snapshot.Has(key) {
			s.metrics.evaluations.addUnknown(p.ID)
			p.Flags.NoteUnknown(key)
		}
	}
}

// fill prepares x.in for an evaluation: with the request, and with the stored data
// that can matter. It reports false if some stored data could not be read. kind is
// the runtime according to the headers.
func (s *Server) fill(x *exchange, p *Project, snapshot *flags.Snapshot, kind runtime.Kind) (complete bool, err error) {
	if err := x.req.Fill(&x.in, snapshot, kind, x.start); err != nil {
		return false, malformed(err)
	}
	x.in.SurveysOnly = x.query.SurveysOnly
	r := subject.Request{
		Request: &x.req, Project: p.ID,
		RequestPersonOnly: x.query.RequestPersonOnly, ContinuityFlags: snapshot.ContinuityFlags(),
	}
	if s.config.Geo != nil {
		r.Addr = s.ClientIP(x.r)
	}
	failures := x.filler.Fill(x.r.Context(), r, &x.in)
	for _, f := range failures {
		s.metrics.failures.WithLabelValues(f.What).Inc()
		s.config.Log.Error("stored data could not be read", "request_id", x.requestID(), "store", f.What, "error", f.Err)
	}
	return len(failures) == 0, nil
}
