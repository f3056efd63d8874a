package flags

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// ruleSet writes a rule set as the filters of a flag.
func (e *encoder) ruleSet(s *RuleSet) {
	e.raw(`{`)
	e.member("version").int(ruleVersion)
	e.textMember("return_type", s.ReturnType)
	e.member("default_value").json(s.Default)
	encodeList(e, "rules", s.Rules, e.rule)
	if s.Aggregation != ByPerson {
		e.member("aggregation_group_type_index").aggregation(s.Aggregation)
	}
	e.raw(`}`)
}

func (e *encoder) rule(r *Rule) {
	e.raw(`{`)
	if r.ID != "" {
		e.member("id").text(r.ID)
	}
	e.textMember("rule_type", r.Type)
	e.member("targeting").raw(`{`)
	encodeList(e, "properties", r.Targeting, e.filter)
	e.raw(`}`)
	encodeOptional(e, "description", r.Description, func(s string) { e.text(s) })
	if r.Metadata != nil {
		e.member("metadata").json(r.Metadata)
	}
	if r.Type == ruleOfSplit {
		e.member("split").split(r.Split)
		e.raw(`}`)
		return
	}
	if r.Type != ruleExperiment {
		e.member("value").json(r.Value)
	}
	if r.Type != ruleTargeted {
		e.member("rollout_percentage").percentage(r.RolloutPercentage)
		e.textMember("on_rollout_miss", r.OnMiss)
		e.textMember("assignment_algorithm", r.Algorithm)
		e.textMember("seed", r.Seed)
		e.textMember("assign_by", r.AssignBy)
	}
	if r.Type == ruleExperiment {
		e.optionalID("experiment_id", r.ExperimentID)
		e.member("paused").bool(r.Paused)
		encodeList(e, "variants", r.Variants, func(v *RuleVariant) {
			e.raw(`{`)
			e.member("key").text(v.Key)
			e.member("weight").percentage(v.Weight)
			e.member("value").json(v.Value)
			e.raw(`}`)
		})
		encodeOptional(e, "holdout", r.Holdout, func(h RuleHoldout) {
			e.raw(`{`)
			e.optionalID("id", h.ID)
			e.textMember("seed", h.Seed)
			e.member("exclusion_percentage").percentage(h.ExclusionPercentage)
			e.raw(`}`)
		})
	}
	e.raw(`}`)
}

// optionalID writes the number of a row, or null.
func (e *encoder) optionalID(name string, id *int64) {
	if e.member(name); id == nil {
		e.raw("null")
	} else {
		e.int(*id)
	}
}

// json writes JSON; nil is null.
func (e *encoder) json(raw []byte) {
	if raw == nil {
		e.raw("null")
		return
	}
	e.dst = append(e.dst, raw...)
}

// Complete fills in what a document that is written by hand may leave out: IDs and seeds.
// They follow from the flag's key and the place of the rule, so that each program that reads
// the document comes to the same. What is there stays, and is nobody else's: a rule that was
// moved has kept what follows from its former place (rules.md §2.7).
func (s *RuleSet) Complete(key string) {
	taken := make(map[string]bool)
	for i := range s.Rules {
		r := &s.Rules[i]
		taken[strings.ToLower(r.ID)], taken[r.Seed] = true, true
		if r.Holdout != nil {
			taken[r.Holdout.Seed] = true
		}
	}
	derive := func(i int, what string, form func(sum []byte) string) string {
		for from := fmt.Appendf(nil, "%s\x00%d\x00%s", key, i, what); ; from = append(from, 0) {
			sum := sha256.Sum256(from)
			if text := form(sum[:16]); !taken[text] {
				return text
			}
		}
	}
	for i := range s.Rules {
		r := &s.Rules[i]
		if r.ID == "" {
			r.ID = derive(i, "id", madeID)
		}
		if r.Seed == "" && (r.Type == ruleRollout || r.Type == ruleExperiment) {
			r.Seed = derive(i, "seed", hex.EncodeToString)
		}
		if r.Holdout != nil && r.Holdout.Seed == "" {
			r.Holdout.Seed = derive(i, "holdout", hex.EncodeToString)
		}
	}
}

// madeID returns 16 bytes as a UUID of version 8: made up.
func madeID(b []byte) string {
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
