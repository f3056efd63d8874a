package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/internal/api"
	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/nearest"
	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
)

// flagCommand has the commands about flags of a server.
func (p *program) flagCommand() *cli.Command {
	return &cli.Command{
		Name:     "flag",
		Category: tool.OfFlags,
		Usage:    "list, make and change the flags of a server",
		Commands: []*cli.Command{
			p.flagListCommand(),
			p.flagGetCommand(),
			p.flagCreateCommand(),
			p.flagRolloutCommand(),
			p.flagSwitchCommand("on", "switch a flag on", "active", true),
			p.flagSwitchCommand("off", "switch a flag off: everybody gets false", "active", false),
			p.flagSwitchCommand("archive", "switch a flag off and hide it in lists", "archived", true),
			p.flagSwitchCommand("unarchive", "show an archived flag in lists again, switched off", "archived", false),
			p.flagExplainCommand(),
			p.flagHistoryCommand(),
			p.flagRevertCommand(),
		},
	}
}

// A remote is a command against a server: its flags, and its client once it runs.
type remote struct {
	tool.Connection
	asJSON bool
	client *api.Client
}

// flags returns the flags that all commands against a server have, after others.
func (r *remote) flags(others ...cli.Flag) []cli.Flag {
	return append(append(others, &cli.BoolFlag{Name: "json", Usage: "print what the server answers, as JSON", Destination: &r.asJSON}), r.Connection.Flags()...)
}

// connect makes the client. It looks at the arguments first, so that a command which
// was called wrongly says so without a server.
func (p *program) connect(r *remote, cmd *cli.Command, names ...string) ([]string, error) {
	args, err := tool.WantArgs(cmd, names...)
	if err != nil {
		return nil, err
	}
	for i, arg := range args {
		if strings.TrimSpace(arg) == "" {
			return nil, tool.WrongUsage("%s must not be empty", names[min(i, len(names)-1)])
		}
	}
	r.client, err = p.Client(&r.Connection)
	return args, err
}

// path returns the path of something of a flag.
func (r *remote) path(key string, names ...string) string {
	return r.client.InProject(append([]string{"feature_flags", key}, names...)...)
}

// flag returns the flag with a key or an ID.
func (r *remote) flag(ctx context.Context, key string) (*management.FlagView, error) {
	f := new(management.FlagView)
	if err := r.client.Get(ctx, r.path(key), f); err != nil {
		return nil, r.refused(ctx, key, err)
	}
	if f.Key != key && fmt.Sprint(f.ID) != key {
		// The path was another route of the API, such as activity.
		return nil, fmt.Errorf("flag %q has a key that the API uses itself: give the ID of the flag", key)
	}
	return f, nil
}

// withFlag runs f with the flag that the first argument names.
func (p *program) withFlag(r *remote, names []string, f func(ctx context.Context, cmd *cli.Command, flag *management.FlagView) error) cli.ActionFunc {
	return func(ctx context.Context, cmd *cli.Command) error {
		flag, err := p.connectTo(ctx, r, cmd, names...)
		if err != nil {
			return err
		}
		return f(ctx, cmd, flag)
	}
}

// connectTo is connect for a command whose first argument names a flag, which it returns.
func (p *program) connectTo(ctx context.Context, r *remote, cmd *cli.Command, names ...string) (*management.FlagView, error) {
	args, err := p.connect(r, cmd, names...)
	if err != nil {
		return nil, err
	}
	return r.flag(ctx, args[0])
}

// change sends a change of a flag, and returns the flag as it is then.
func (r *remote) change(ctx context.Context, method string, before *management.FlagView, body any, names ...string) (*management.FlagView, error) {
	f := new(management.FlagView)
	if err := r.client.Send(ctx, method, r.path(fmt.Sprint(before.ID), names...), body, f); err != nil {
		return nil, r.refused(ctx, before.Key, err)
	}
	return f, nil
}

// refused says what to do if the server refuses something about one flag.
func (r *remote) refused(ctx context.Context, key string, err error) error {
	e, ok := errors.AsType[*api.Error](err)
	switch {
	case !ok:
		return err
	case isNotFound(err):
		keys, listed := r.keys(ctx)
		if listed != nil {
			return listed // such as of a project that does not exist
		}
		question := ""
		if near := nearest.Names(keys, key); len(near) > 0 {
			question = "; did you mean " + tool.Choices(near, "") + "?"
		}
		return fmt.Errorf("the project has no flag %q%s", key, question)
	case e.Status == http.StatusConflict && e.Attr == "version", e.Status == http.StatusPreconditionFailed:
		return fmt.Errorf("flag %q was changed by somebody else at this moment, and stays as it is: look at %s flag history %s, and try again", key, tool.ProgramName, key)
	}
	return err
}

// keys returns the keys of all flags that are not archived.
func (r *remote) keys(ctx context.Context) (keys []string, err error) {
	for f, err := range api.List[struct{ Key string }](ctx, r.client, r.client.InProject("feature_flags"), nil) {
		if err != nil {
			return nil, err
		}
		keys = append(keys, f.Key)
	}
	return keys, nil
}

// completionTime is how long a shell waits for the keys of flags.
const completionTime = 2 * time.Second

// completeKey yields the keys of flags for the first argument of a command. A shell that
// waits is not a place for errors.
func (p *program) completeKey(r *remote) cli.ShellCompleteFunc {
	return tool.Complete(func(cmd *cli.Command) (candidates []tool.Candidate) {
		client, err := p.Client(&r.Connection)
		if err != nil || cmd.Args().Len() > 0 {
			return nil
		}
		ctx, stop := context.WithTimeout(context.Background(), completionTime)
		defer stop()
		for f, err := range api.List[struct{ Key, Name string }](ctx, client, client.InProject("feature_flags"), nil) {
			if err != nil {
				return candidates
			}
			candidates = append(candidates, tool.Candidate{Word: f.Key, Usage: f.Name})
		}
		return candidates
	})
}

// isNotFound reports whether the server does not have a thing.
func isNotFound(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Status == http.StatusNotFound && e.Code == "not_found"
}

// state says in a word or two whether a flag is served.
func state(f *management.FlagView) string {
	switch {
	case f.Deleted:
		return "deleted"
	case f.Archived:
		return "archived"
	case !f.Active:
		return "off"
	case f.Status == "STALE":
		return "on, stale"
	}
	return "on"
}

// who names a user, or says that there is none.
func who(u *management.Author) string {
	if u == nil {
		return "-"
	}
	return cmp.Or(strings.TrimSpace(u.FirstName+" "+u.LastName), u.Email, "-")
}

// when shows a time to people.
func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// summaryOf says in one line what a flag is.
func (r *remote) summaryOf(ctx context.Context, f *management.FlagView) string {
	if !f.Active {
		return state(f)
	}
	list, names := r.filtersOf(ctx, f)
	text := state(f) + ", for " + names.Audience(list[0])
	if variants := words.Variants(list[0]); variants != "" {
		text += "; variants " + variants
	}
	return text
}

// tell prints a changed flag: as JSON, or as a line that says what has changed.
func (p *program) tell(r *remote, f *management.FlagView, format string, args ...any) error {
	if r.asJSON {
		return p.JSON(f)
	}
	return p.Print("%s", tool.Printable(fmt.Sprintf(format, args...)))
}

// filtersOf returns the filters of flags, with the names of what they refer to as far as the
// server tells them.
func (r *remote) filtersOf(ctx context.Context, views ...*management.FlagView) ([]*flags.Filters, *words.Names) {
	list, wanted, names := make([]*flags.Filters, len(views)), []int64{}, words.NewNames()
	for i, f := range views {
		list[i] = &f.Filters
		for target := range list[i].Targets() {
			if id, ok := target.ID(); ok {
				wanted = append(wanted, id)
			}
		}
	}
	if len(wanted) > 0 {
		var answer struct {
			Keys map[string]string `json:"keys"`
		}
		if r.client.Send(ctx, http.MethodPost, r.client.InProject("feature_flags", "bulk_keys"), map[string]any{"ids": wanted}, &answer) == nil {
			names.Flags = answer.Keys
		}
	}
	return list, names
}

// about prints a flag.
func (p *program) about(ctx context.Context, r *remote, f *management.FlagView) error {
	list, names := r.filtersOf(ctx, f)
	filters := list[0]
	rows := [][]string{{"flag", f.Key}}
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, value})
		}
	}
	add("name", f.Name)
	add("id", fmt.Sprint(f.ID))
	add("state", state(f))
	if f.StaleReason != nil {
		add("stale", *f.StaleReason)
	}
	for i := range filters.Groups {
		add(fmt.Sprintf("condition set %d", i+1), names.Condition(&filters.Groups[i], filters.AggregationGroupTypeIndex))
	}
	if set := filters.RuleSet; set != nil {
		add("type", set.ReturnType)
		for i := range set.Rules {
			add(fmt.Sprintf("rule %d", i+1), names.Rule(&set.Rules[i], set))
		}
		add("otherwise", words.Default(set))
	} else if early := filters.FeatureEnrollment; early != nil && *early {
		add("early access", words.EarlyAccess)
	} else if len(filters.Groups) == 0 {
		add("condition sets", "none: the flag is on for "+words.NoOne)
	}
	add("variants", words.Variants(filters))
	if filters.Holdout != nil {
		add("holdout", words.Percent(filters.Holdout.ExclusionPercentage))
	}
	if f.EncryptedPayloads {
		add("payload", "encrypted")
	} else {
		for _, key := range slices.Sorted(maps.Keys(filters.Payloads)) {
			name := "payload of " + key
			if key == "true" && filters.Multivariate == nil {
				name = "payload"
			}
			add(name, words.Text(payloadText(filters.Payloads[key])))
		}
	}
	if f.RemoteConfig {
		add("kind", "remote configuration")
	}
	if f.Runtime != "" && f.Runtime != "all" {
		add("runtime", f.Runtime)
	}
	if f.Bucketing == "device_id" {
		add("bucketing", "by device")
	}
	if f.Continuity {
		add("continuity", "a person keeps the value when logging in")
	}
	add("contexts", strings.Join(f.Contexts, ", "))
	add("tags", strings.Join(f.Tags, ", "))
	add("version", fmt.Sprint(f.Version))
	add("changed", when(f.UpdatedAt)+" by "+who(f.LastModifiedBy))
	add("created", when(f.CreatedAt)+" by "+who(f.CreatedBy))
	if f.LastCalledAt != nil {
		add("last asked for", when(*f.LastCalledAt))
	}
	return p.Table(rows)
}

// payloadText returns the JSON that a payload is: the API shows it as a text of JSON.
func payloadText(raw json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) == nil && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return raw
}
