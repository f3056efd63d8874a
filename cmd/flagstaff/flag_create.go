package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
)

// maxFlagFile is how many bytes the file of a flag may have, as many as a request.
const maxFlagFile = 1 << 20

// flagCreateCommand makes a flag.
func (p *program) flagCreateCommand() *cli.Command {
	var r remote
	var given newFlag
	return &cli.Command{
		Name:      "create",
		Usage:     "make a flag",
		UsageText: tool.ProgramName + " flag create [FLAGS] KEY\n" + tool.ProgramName + " flag create -file FILE [KEY]",
		Description: `Create makes a flag, for nobody unless -rollout says for how many. Conditions, and all else
that a flag can have, come from a file: JSON as the API takes it, such as flag get -json
prints it. "-" as FILE is standard input.

Examples:

	flagstaff flag create new-checkout
	flagstaff flag create -name "New checkout" -rollout 10 -tag web new-checkout
	flagstaff flag create -rollout 100 -variant control=50 -variant test=50 -payload test='{"hex":"#00f"}' button
	flagstaff flag create -file new-checkout.json`,
		Flags: r.flags(
			&cli.StringFlag{Name: "file", Usage: "the `FILE` with the flag as JSON", Destination: &given.file},
			&cli.StringFlag{Name: "name", Usage: "the `NAME` of the flag: what it is for", Destination: &given.name},
			&cli.StringFlag{Name: "rollout", Usage: "give it to `PERCENTAGE` of all persons, from 0 to 100 (default 0)", Destination: &given.rollout},
			&cli.StringSliceFlag{Name: "variant", Usage: "a variant and its share, `KEY=PERCENTAGE`. May be given again; the shares make 100", Destination: &given.variants},
			&cli.StringSliceFlag{Name: "payload", Usage: "what comes with the flag, `JSON`, or with a variant, VARIANT=JSON. May be given again", Destination: &given.payloads},
			&cli.StringSliceFlag{Name: "tag", Usage: "a `TAG`. May be given again", Destination: &given.tags},
			&cli.BoolFlag{Name: "off", Usage: "make it switched off", Destination: &given.off},
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			names := []string{"KEY"}
			if given.file != "" && cmd.Args().Len() == 0 {
				names = nil
			}
			if _, err := tool.WantArgs(cmd, names...); err != nil {
				return err
			}
			body, err := given.body(p, cmd.Args().First())
			if err != nil {
				return err
			}
			if _, err := p.connect(&r, cmd, names...); err != nil {
				return err
			}
			f := new(management.FlagView)
			if err := r.client.Send(ctx, http.MethodPost, r.client.InProject("feature_flags"), body, f); err != nil {
				return err
			}
			return p.tell(&r, f, "made flag %s: %s", f.Key, r.summaryOf(ctx, f))
		},
	}
}

// A newFlag is what the flags of the command say of a flag.
type newFlag struct {
	file, name, rollout      string
	variants, payloads, tags []string
	off                      bool
}

// simple reports whether a flag of the command describes the flag.
func (n *newFlag) simple() bool {
	return n.name != "" || n.rollout != "" || n.off || len(n.variants)+len(n.payloads)+len(n.tags) > 0
}

// body returns the body that makes the flag.
func (n *newFlag) body(p *program, key string) (map[string]any, error) {
	switch {
	case n.file != "" && n.simple():
		return nil, tool.WrongUsage("with -file the file says all: flags -name, -rollout, -variant, -payload, -tag and -off are for a flag without a file")
	case n.file != "":
		return n.bodyOfFile(p, key)
	}
	share := 0.0
	if n.rollout != "" {
		var ok bool
		if share, ok = tool.Percentage(n.rollout); !ok {
			return nil, tool.BadValue("rollout", n.rollout, tool.WantPercentage)
		}
	}
	filters := flags.Filters{Groups: []flags.Condition{{Properties: []flags.Filter{}, RolloutPercentage: &share}}}
	var variants []flags.Variant
	known, sum := make(map[string]bool), 0.0
	for _, text := range n.variants {
		name, rest, ok := strings.Cut(text, "=")
		part, isShare := tool.Percentage(rest)
		if !ok || name == "" || !isShare {
			return nil, tool.BadValue("variant", text, "KEY=PERCENTAGE, such as test=50")
		}
		if known[name] {
			return nil, tool.WrongUsage("flag -variant names the variant %q twice", name)
		}
		known[name], sum = true, sum+part
		variants = append(variants, flags.Variant{Key: name, RolloutPercentage: part})
	}
	if len(variants) > 0 {
		const rounding = 0.01
		if sum < 100-rounding || sum > 100+rounding {
			return nil, tool.WrongUsage("the percentages of flags -variant make %s, and must make 100%%", words.Percent(sum))
		}
		filters.Multivariate = &flags.Multivariate{Variants: variants}
	}
	if err := n.addPayloads(&filters, known); err != nil {
		return nil, err
	}
	return map[string]any{"key": key, "name": n.name, "filters": filters, "active": !n.off, "tags": append([]string{}, n.tags...)}, nil
}

// addPayloads adds the payloads by variants, or the one of a flag without variants.
func (n *newFlag) addPayloads(filters *flags.Filters, variants map[string]bool) error {
	for _, text := range n.payloads {
		variant, payload := "true", text
		if len(variants) > 0 {
			var ok bool
			if variant, payload, ok = strings.Cut(text, "="); !ok || !variants[variant] {
				return tool.BadValue("payload", text, "VARIANT=JSON with a variant that a flag -variant names")
			}
		}
		if !json.Valid([]byte(payload)) {
			return tool.BadValue("payload", text, `JSON, such as {"hex":"#00f"} or "a text in quotes"`)
		}
		if _, twice := filters.Payloads[variant]; twice {
			if len(variants) == 0 {
				return tool.WrongUsage("flag -payload is given twice, and the flag has one payload")
			}
			return tool.WrongUsage("flag -payload gives the payload of variant %q twice", variant)
		}
		filters.SetPayload(variant, payload)
	}
	return nil
}

// computed are members that the API shows of a flag, and that belong to the flag of which
// they were shown. What else it computes, it ignores.
var computed = []string{"id", "version", "deleted", "created_by", "created_at", "updated_at", "last_modified_by"}

// bodyOfFile returns the body that a file is.
func (n *newFlag) bodyOfFile(p *program, key string) (map[string]any, error) {
	files := tool.Opener{Stdin: p.Stdin}
	text, name, err := files.Read(n.file, maxFlagFile+1)
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxFlagFile:
		return nil, fmt.Errorf("%s has more than %d bytes", name, maxFlagFile)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil || members == nil {
		return nil, fmt.Errorf(`%s is not a flag: want a JSON object such as {"key":"new-checkout","filters":{"groups":[{"rollout_percentage":10}]}}`, name)
	}
	if members["flags"] != nil {
		return nil, fmt.Errorf("%s is a document of definitions, not one flag: %s import takes it", name, tool.ProgramName)
	}
	body := make(map[string]any)
	for member, value := range members {
		body[member] = value
	}
	for _, member := range computed {
		delete(body, member)
	}
	if key != "" {
		body["key"] = key
	}
	return body, nil
}
