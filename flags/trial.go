package flags

import (
	"cmp"
	"slices"

	"github.com/flagstaff-go/flagstaff/internal/operators"
)

// What no request can reach is compiled all the same, in a trial that is thrown away: a flag
// that is off today is switched on tomorrow, and its faults were made when it was written. So
// each fault of a document is among its problems (evaluation.md §1.7).

// reportFaults reports why a flag fails.
func (c *compiler) reportFaults(m *Flag) {
	faults := []*DefinitionError{m.unusable()}
	if m.fault != nil && m.Filters.fault != nil {
		faults = append(faults, m.Filters.fault)
	}
	for _, e := range faults {
		hint := e.Hint
		hint = cmp.Or(hint, "the flag fails with "+ErrorFlagData+" until this is corrected")
		c.add(SeverityError, &DefinitionError{m.Key, e.Path, e.Value, e.Err, hint})
	}
}

// newTrial returns the compiler of what nothing evaluates.
func (c *compiler) newTrial() *compiler {
	if c.trial == nil {
		c.trial = newCompiler(c.d, c.o)
		c.trial.tried, c.trial.groupOf = c, c.groupOf
		c.trial.s.zone, c.trial.s.groupNames = c.s.zone, c.s.groupNames
	}
	t := c.trial
	t.problems, t.arena, t.s.values, t.s.payloads = nil, t.arena[:0], t.s.values[:0], append(t.s.payloads[:0], payload{})
	return t
}

// finding adds what a trial has found.
func (c *compiler) finding(t *compiler) {
	for _, p := range t.problems {
		// A cohort that a flag uses was compiled before.
		known := func(q Problem) bool { return q.Flag == "" && q.Path == p.Path && q.Err.Error() == p.Err.Error() }
		if p.Flag != "" || !slices.ContainsFunc(c.problems, known) {
			c.add(p.Severity, p.DefinitionError)
		}
	}
	// What is found then depends on what was tried before.
	c.s.found.outside = c.s.found.outside || t.regexps.exceeded
}

// tryFlag looks for faults in a flag whose condition sets nothing evaluates.
func (c *compiler) tryFlag(m *Flag) {
	if m.unusable() != nil {
		c.reportFaults(m)
		if v := m.Filters.Version; v != 0 && v != 1 {
			return // another language
		}
	}
	t := c.newTrial()
	t.s.flags = append(t.s.flags[:0], compiledFlag{prefix: m.Key + "."})
	t.model = append(t.model[:0], m)
	t.compileFlag(0)
	t.flag = nil
	c.finding(t)
}

// tryFlagCheck looks for faults in a dependency of a flag that nothing evaluates. It does
// not look at the other flag: what is found in one must not depend on what others say.
func (c *compiler) tryFlagCheck(fl *Filter, r FlagReference, at *path) uint32 {
	switch {
	case !c.flag.evaluable() && c.tried.target(r) < 0: // of others it is reported
		c.problem(SeverityError, &path{up: at, name: "key"}, quote(fl.Key), "create the flag or remove the filter", "the flag that it depends on does not exist")
	case !fl.Comparison.StrictType && !operators.OperandFlagValue.Admits(fl.Value):
		c.problem(SeverityError, &path{up: at, name: "value"}, fl.Value, "want "+operators.OperandFlagValue.String(), "the dependency can never match")
	}
	return c.neverCheck(-1, fl.Operator, fl)
}

// tryCohorts looks for faults in cohorts to which no flag refers.
func (c *compiler) tryCohorts() {
	var ids []int64
	for id := range c.d.Cohorts {
		if c.cohortOf[id] == nil && (c.trial == nil || c.trial.cohortOf[id] == nil) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		t := c.newTrial()
		_, code := t.compileCohort(id, 0)
		if code != 0 && len(t.problems) == 0 {
			c := c.d.Cohorts[id]
			t.problem(SeverityError, c.path(id), nil, "flags that need the cohort fail", "%s", cohortFailure(code))
		}
		c.finding(t)
		c.s.found.outside = c.s.found.outside || len(t.problems) > 0 // a flag that refers to it later finds the same
	}
}
