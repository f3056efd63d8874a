package server

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// flags answers POST /flags (api.md §4).
func (s *Server) flags(x *exchange) error {
	x.query.Parse(x.r.URL.RawQuery)
	return s.evaluate(x, wire.FlagsForm(x.query.Version), false)
}

// decide answers POST /decide, the older name: its answers have older forms and
// include the client configuration unless the query says otherwise.
func (s *Server) decide(x *exchange) error {
	x.query.Parse(x.r.URL.RawQuery)
	if !x.query.HasConfig {
		x.query.Config = true
	}
	return s.evaluate(x, wire.DecideForm(x.query.Version), true)
}

var quotaLimited = []string{"feature_flags"}

// evaluate answers either. The order of its checks is that of evaluation.md
// §11.5.
func (s *Server) evaluate(x *exchange, form wire.Form, decide bool) error {
	if err := s.takeIP(x); err != nil {
		return err
	}
	err := x.body.parse(x.r, x.query.Compression, &x.req)
	if x.req.APIKey != "" {
		if err := s.limiters.byKey.take(x.w.Header(), limited(x.req.APIKey), x.start); err != nil {
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
	return x.respond(http.StatusOK, typeJSON, x.out)
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
	}
	var out flags.Outcome
	switch {
	case form == wire.V2 && x.query.Detailed:
		x.out, out = wire.AppendDetailed(x.out[:0], snapshot, &x.in, e)
	case form == wire.V2:
		x.out, out = wire.AppendResponse(x.out[:0], snapshot, &x.in, e)
	default:
		x.out, out = wire.AppendLegacy(x.out[:0], form, snapshot, &x.in, e)
	}
	s.metrics.evaluated.Add(float64(out.Flags))
	return nil
}

// fill prepares x.in for an evaluation: with the request, and with what is stored
// and can matter. It reports false if something stored could not be read. kind is
// what the headers say about the runtime.
func (s *Server) fill(x *exchange, p *Project, snapshot *flags.Snapshot, kind runtime.Kind) (complete bool, err error) {
	if err := x.req.Fill(&x.in, snapshot, kind, x.start); err != nil {
		return false, malformed(err)
	}
	x.in.SurveysOnly = x.query.SurveysOnly
	return s.addStored(x, p, snapshot), nil
}

// addStored adds to the Input what is stored and can matter. It reports false if
// something could not be read.
func (s *Server) addStored(x *exchange, p *Project, snapshot *flags.Snapshot) bool {
	c := &s.config
	if c.Properties == nil && c.Overrides == nil && c.Cohorts == nil && c.Geo == nil {
		return true
	}
	needs := x.in.Needs()
	ctx, id, ok := x.r.Context(), storedName(x.req.DistinctID, capture.MaxID), true
	x.stored = x.stored[:0]

	if c.Properties != nil {
		// The Input reuses needs.Groups when it is used.
		x.groups = append(x.groups[:0], needs.Groups...)
		if needs.Person && id != "" && !x.query.RequestPersonOnly {
			ok = s.addPerson(ctx, x, p.ID, id) && ok
		}
		if needs.PersonCreated && id != "" && !x.query.RequestPersonOnly {
			created, err := c.Properties.PersonCreated(ctx, p.ID, id)
			switch {
			case err != nil:
				ok = s.storeFailed(x, "person", err)
			case !created.IsZero():
				x.in.SetPersonCreated(created)
			}
		}
		for _, name := range x.groups {
			ok = s.addGroup(ctx, x, p.ID, name) && ok
		}
	}
	if c.Cohorts != nil && needs.Cohorts && id != "" {
		var err error
		x.cohorts, err = c.Cohorts.AppendCohorts(ctx, x.cohorts[:0], p.ID, id)
		if err != nil {
			ok = s.storeFailed(x, "cohorts", err)
		} else {
			for _, cohort := range x.cohorts {
				x.in.SetCohort(cohort)
			}
		}
	}
	if c.Overrides != nil && needs.Overrides && id != "" {
		anonymous := x.req.AnonymousID
		if anonymous == "" {
			anonymous = x.req.PersonText("$anon_distinct_id")
		}
		if err := c.Overrides.Overrides(ctx, p.ID, id, storedName(anonymous, capture.MaxID), snapshot.ContinuityFlags(), x.setOverride); err != nil {
			x.in.FailOverrides()
			ok = s.storeFailed(x, "overrides", err)
		}
	}
	if c.Geo != nil && needs.Geo && !x.req.GeoIPDisable {
		if addr := s.clientIP(x.r); addr.IsValid() {
			for name, value := range c.Geo.Properties(addr) {
				x.in.SetGeo(name, value)
			}
		}
	}
	return ok
}

// storedName returns the name of a person or group as capturing stores it:
// without NUL, and not longer than it may be in characters.
func storedName(name string, most int) string {
	if strings.IndexByte(name, 0) >= 0 {
		name = strings.ReplaceAll(name, "\x00", "\uFFFD")
	}
	if len(name) <= most {
		return name
	}
	for i := range name {
		if most == 0 {
			return name[:i]
		}
		most--
	}
	return name
}

func (s *Server) addPerson(ctx context.Context, x *exchange, project int64, id string) bool {
	start := len(x.stored)
	stored, err := s.config.Properties.AppendPerson(ctx, x.stored, project, id)
	if err != nil {
		return s.storeFailed(x, "person", err)
	}
	x.stored = stored
	if len(stored) == start {
		return true
	}
	if err := x.in.SetPerson(slices.Clip(stored[start:])); err != nil {
		return s.storeFailed(x, "person", err)
	}
	return true
}

func (s *Server) addGroup(ctx context.Context, x *exchange, project int64, name string) bool {
	key := storedName(x.req.GroupKey(name), persons.MaxGroupKey)
	if key == "" {
		return true
	}
	start := len(x.stored)
	stored, err := s.config.Properties.AppendGroup(ctx, x.stored, project, name, key)
	if err != nil {
		return s.storeFailed(x, "group", err)
	}
	x.stored = stored
	if len(stored) == start {
		return true
	}
	if err := x.in.SetGroup(name, slices.Clip(stored[start:])); err != nil {
		return s.storeFailed(x, "group", err)
	}
	return true
}

// storeFailed logs that stored data could not be read. It returns false.
func (s *Server) storeFailed(x *exchange, store string, err error) bool {
	s.metrics.failures.WithLabelValues(store).Inc()
	s.config.Log.Error("stored data could not be read", "request_id", x.requestID(), "store", store, "error", err)
	return false
}
