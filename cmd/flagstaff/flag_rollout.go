package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
)

// flagRolloutCommand changes how many get a flag.
func (p *program) flagRolloutCommand() *cli.Command {
	var r remote
	var condition int
	return &cli.Command{
		Name:      "rollout",
		Usage:     "change for how many a flag is on",
		UsageText: tool.ProgramName + " flag rollout [FLAGS] KEY PERCENTAGE",
		Description: `Rollout changes the percentage of one condition set of a flag, and nothing else:
persons who have the flag keep it while the percentage grows. It prints the percentage
before and after and, if the key may see persons (person:read), for about how many of the
known ones that is.
A flag with several condition sets needs -condition: flag get lists them, from 1 on.

Examples:

	flagstaff flag rollout new-checkout 50
	flagstaff flag rollout -condition 2 new-checkout 2.5`,
		Flags: r.flags(
			&cli.IntFlag{Name: "condition", HideDefault: true, Usage: "the `NUMBER` of the condition set, from 1", Destination: &condition},
		),
		ShellComplete: p.completeKey(&r),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			args, err := tool.WantArgs(cmd, "KEY", "PERCENTAGE")
			if err != nil {
				return err
			}
			share, ok := tool.Percentage(args[1])
			if !ok {
				return tool.WrongUsage("PERCENTAGE is %q: want %s", args[1], tool.WantPercentage)
			}
			if cmd.IsSet("condition") && condition < 1 {
				return tool.BadValue("condition", fmt.Sprint(condition), "a number from 1")
			}
			before, err := p.connectTo(ctx, &r, cmd, "KEY", "PERCENTAGE")
			if err != nil {
				return err
			}
			list, names := r.filtersOf(ctx, before)
			filters := list[0]
			if condition == 0 && len(filters.Groups) == 1 {
				condition = 1
			}
			if condition == 0 || condition > len(filters.Groups) {
				return wantCondition(filters, names, before.Key, condition)
			}
			set := &filters.Groups[condition-1]
			body := map[string]any{"rollout_percentage": share, "condition": condition - 1, "version": before.Version}
			f, err := r.change(ctx, http.MethodPost, before, body, "rollout")
			if err != nil {
				return err
			}
			if r.asJSON {
				return p.JSON(f)
			}
			text := fmt.Sprintf("flag %s: %s → %s", f.Key, words.Percent(words.Rollout(set)), words.Percent(share))
			if n := len(filters.Groups); n > 1 {
				text += fmt.Sprintf(" in condition set %d", condition)
			}
			text += r.reach(ctx, set, filters.AggregationGroupTypeIndex, share)
			if !f.Active {
				text += fmt.Sprintf("; it is off: %s flag on %s", tool.ProgramName, f.Key)
			}
			return p.Print("%s", tool.Printable(text))
		},
	}
}

// wantCondition says which condition sets a flag has.
func wantCondition(f *flags.Filters, names *words.Names, key string, condition int) error {
	n := len(f.Groups)
	switch {
	case f.RuleSet != nil:
		return fmt.Errorf("flag %s has rules and no condition sets: change their percentages in the console, or by apply", key)
	case n == 0:
		return fmt.Errorf("flag %s has no condition set whose percentage could change", key)
	}
	text := fmt.Sprintf("flag %s has %s: say which one with -condition", key, tool.Count(n, "condition set"))
	if condition > 0 {
		text = fmt.Sprintf("flag %s has %s, and no %d: say which one with -condition", key, tool.Count(n, "condition set"), condition)
	}
	const shown = 10
	for i := range f.Groups[:min(n, shown)] {
		text += fmt.Sprintf("; %d is %s", i+1, words.Shorten(names.Condition(&f.Groups[i], f.AggregationGroupTypeIndex), 60))
	}
	return fmt.Errorf("%s", text)
}

// reach says for about how many persons, or groups, a condition set is with a percentage.
// It is "" if the server does not tell, which must not spoil a change that was made.
func (r *remote) reach(ctx context.Context, c *flags.Condition, ofFlag flags.Aggregation, share float64) string {
	of := "persons"
	body := map[string]any{"condition": map[string]any{"properties": append([]flags.Filter{}, c.Properties...)}}
	if index, grouped := words.Aggregation(c, ofFlag); grouped {
		body["group_type_index"], of = index, "groups"
	}
	var radius management.BlastRadius
	if r.client.Send(ctx, http.MethodPost, r.client.InProject("feature_flags", "user_blast_radius"), body, &radius) != nil {
		return ""
	}
	// Most will be in their share, not exactly.
	about := int(float64(radius.Affected)*share/100 + 0.5)
	return fmt.Sprintf(", about %d of %d known %s", about, radius.Total, of)
}
