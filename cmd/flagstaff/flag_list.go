package main

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/internal/api"
	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
)

// states are the values of -state, with the parameters of the API for them.
var states = map[string][2]string{
	"on": {"active", "true"}, "off": {"active", "false"}, "stale": {"active", "STALE"}, "archived": {"archived", "true"},
}

// kinds are the values of -kind, with what the API calls them.
var kinds = map[string]string{"boolean": "boolean", "variants": "multivariant", "experiment": "experiment", "config": "remote_config"}

// flagListCommand lists the flags of a project.
func (p *program) flagListCommand() *cli.Command {
	var r remote
	var search, byState, kind, order string
	var tags []string
	var stale bool
	return &cli.Command{
		Name:      "list",
		Usage:     "list flags",
		UsageText: tool.ProgramName + " flag list [FLAGS]",
		Description: `List prints the flags of the project, newest first: the key, the state, for whom the
flag is on, when it was changed, and by whom. Archived flags are left out without -state archived.
With -stale it prints the flags that can perhaps be removed, and why: no client has reported a
value for 30 days, or every request gets the same value and nobody has changed that for 30 days.

Examples:

	flagstaff flag list
	flagstaff flag list -stale
	flagstaff flag list -search checkout -tag web -order key`,
		Flags: r.flags(
			&cli.StringFlag{Name: "search", Usage: "only flags with `TEXT` in the key or the name", Destination: &search},
			&cli.StringFlag{Name: "state", Usage: "only flags in the `STATE` on, off, stale or archived", Destination: &byState},
			&cli.BoolFlag{Name: "stale", Usage: "only stale flags, with why they are stale; short for -state stale", Destination: &stale},
			&cli.StringFlag{Name: "kind", Usage: "only flags of the `KIND` boolean, variants, experiment or config", Destination: &kind},
			&cli.StringSliceFlag{Name: "tag", Usage: "only flags with the `TAG`. May be given again, for flags with any of them", Destination: &tags},
			&cli.StringFlag{Name: "order", Usage: "sort by the `FIELD` key, name, created_at or updated_at; with a hyphen before it the other way round", Destination: &order},
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			query := url.Values{}
			for name, value := range map[string]string{"search": search, "order": order} {
				if value != "" {
					query.Set(name, value)
				}
			}
			if stale {
				if byState != "" && byState != "stale" {
					return tool.WrongUsage("-stale and -state %s exclude each other", byState)
				}
				byState = "stale"
			}
			if byState != "" {
				parameter, ok := states[byState]
				if !ok {
					return tool.BadValue("state", byState, "on, off, stale or archived")
				}
				query.Set(parameter[0], parameter[1])
			}
			if kind != "" {
				if kinds[kind] == "" {
					return tool.BadValue("kind", kind, "boolean, variants, experiment or config")
				}
				query.Set("type", kinds[kind])
			}
			if len(tags) > 0 {
				encoded, err := json.Marshal(tags)
				if err != nil {
					return err
				}
				query.Set("tags", string(encoded))
			}
			if _, err := p.connect(&r, cmd); err != nil {
				return err
			}
			return p.listFlags(ctx, &r, query)
		},
	}
}

func (p *program) listFlags(ctx context.Context, r *remote, query url.Values) error {
	views := []*management.FlagView{}
	for f, err := range api.List[*management.FlagView](ctx, r.client, r.client.InProject("feature_flags"), query) {
		if err != nil {
			return err
		}
		views = append(views, f)
	}
	if r.asJSON {
		return p.JSON(views)
	}
	if len(views) == 0 {
		if len(query) > 0 {
			return p.Print("no flags are like that")
		}
		return p.Print("the project has no flags yet: %s flag create KEY makes one", tool.ProgramName)
	}
	if query.Get("active") == "STALE" {
		rows := [][]string{{"KEY", "WHY", "BY"}}
		for _, f := range views {
			rows = append(rows, []string{f.Key, staleReason(f), who(f.LastModifiedBy)})
		}
		return p.Table(rows)
	}
	rows := [][]string{{"KEY", "STATE", "AUDIENCE", "CHANGED", "BY"}}
	filters, names := r.filtersOf(ctx, views...)
	for i, f := range views {
		audience := names.Audience(filters[i])
		if variants := words.Variants(filters[i]); variants != "" {
			audience += " (" + variants + ")"
		}
		const width = 59
		rows = append(rows, []string{f.Key, state(f), words.Shorten(audience, width), when(f.UpdatedAt), who(f.LastModifiedBy)})
	}
	return p.Table(rows)
}

// staleReason says why a flag is stale, "-" if the server does not tell.
func staleReason(f *management.FlagView) string {
	if f.StaleReason == nil {
		return "-"
	}
	return *f.StaleReason
}
