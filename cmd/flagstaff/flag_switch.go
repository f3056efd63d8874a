package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
	"github.com/flagstaff-go/flagstaff/management"
)

// flagSwitchCommand sets one of the fields active and archived.
func (p *program) flagSwitchCommand(name, usage, field string, value bool) *cli.Command {
	var r remote
	description := map[string]string{
		"on": `On switches a flag on, for those whom its condition sets name. It is refused while a flag
that it depends on is off.`,
		"off": `Off switches a flag off: everybody gets false. It is refused while other flags that are on
depend on it.`,
		"archive": `Archive switches a flag off, and hides it in lists. Its key stays taken. It is refused
while other flags that are on depend on it.`,
		"unarchive": `Unarchive shows an archived flag in lists again. It stays off until flag on.`,
	}[name]
	return &cli.Command{
		Name:          name,
		Usage:         usage,
		UsageText:     tool.ProgramName + " flag " + name + " [FLAGS] KEY",
		Description:   description + "\n\nExample:\n\n\tflagstaff flag " + name + " new-checkout",
		Flags:         r.flags(),
		ShellComplete: p.completeKey(&r),
		Action: p.withFlag(&r, []string{"KEY"}, func(ctx context.Context, _ *cli.Command, before *management.FlagView) error {
			body := map[string]any{field: value, "version": before.Version}
			same := before.Active == value
			if field == "archived" {
				same = before.Archived == value
				if value {
					body["active"] = false
				}
			}
			if same {
				return p.tell(&r, before, "flag %s is %s already", before.Key, state(before))
			}
			if name == "on" && before.Archived {
				return fmt.Errorf("flag %s is archived: %s flag unarchive %s comes first", before.Key, tool.ProgramName, before.Key)
			}
			f, err := r.change(ctx, http.MethodPatch, before, body)
			if err != nil {
				return err
			}
			return p.tell(&r, f, "flag %s: %s → %s", f.Key, state(before), r.summaryOf(ctx, f))
		}),
	}
}
