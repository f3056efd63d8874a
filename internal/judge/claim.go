package judge

import (
	"cmp"
	"crypto/rand"
	"strings"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/flags"
)

// Claim gives the rules that a client has sent the IDs and seeds that they have, or new ones:
// they belong to the server (rules.md §7.2). stored is the rule set that the flag has, nil for
// a new one. It changes sent; an [*Error] tells of an ID or a seed that the client has chosen.
func Claim(sent, stored *flags.RuleSet) error {
	known := make(map[string]*flags.Rule)
	if stored != nil {
		for i := range stored.Rules {
			known[strings.ToLower(stored.Rules[i].ID)] = &stored.Rules[i]
		}
	}
	for i := range sent.Rules {
		if err := claimRule(&sent.Rules[i], known); err != nil {
			return about("filters", within("rules", within(i, err)))
		}
	}
	return nil
}

func claimRule(r *flags.Rule, known map[string]*flags.Rule) error {
	was := known[strings.ToLower(r.ID)]
	switch {
	case was == nil && r.ID != "":
		return within("id", refuseAs(codeRuleInvalid, "want the ID of a rule of the flag, or none for a new rule"))
	case was == nil:
		was = &flags.Rule{ID: uuid.NewString()}
	}
	r.ID = was.ID
	if r.Algorithm != "" { // it draws
		if err := claimSeed(&r.Seed, was.Seed, ""); err != nil {
			return err
		}
	}
	if r.Holdout == nil {
		return nil
	}
	// A holdout that is shared keeps the same persons out of all experiments, also out of those
	// of condition sets (rules.md §3.1).
	const shared = "holdout-"
	before, otherwise := "", ""
	if was.Holdout != nil {
		before = was.Holdout.Seed
	} else if r.Holdout.ID != nil {
		otherwise = shared
	}
	r.Holdout = new(*r.Holdout) // which may be shared
	return within("holdout", claimSeed(&r.Holdout.Seed, before, otherwise))
}

// claimSeed makes a seed the one that was there before or, if there was none, another one.
func claimSeed(seed *string, before, otherwise string) error {
	if *seed != "" && *seed != before {
		return within("seed", refuseAs(codeRuleInvalid, "the server chooses seeds: leave it out, or send the one that the rule has"))
	}
	*seed = cmp.Or(before, otherwise)
	if *seed == "" {
		*seed = newSeed()
	}
	return nil
}

// newSeed returns a random seed.
func newSeed() string { return rand.Text() }
