package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/nearest"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// explainCommand tells how a flag of a document gets its value.
func (p *Program) explainCommand() *cli.Command {
	var asJSON bool
	var given RequestFlags
	return &cli.Command{
		Name:      "explain",
		Category:  ofFiles,
		Usage:     "tell how a flag gets its value for a person",
		UsageText: ProgramName + " explain [FLAGS] FILE KEY PERSON",
		Description: `Explain evaluates the flag KEY of the definitions document FILE for the person with the
distinct ID PERSON, and prints each step: which condition set or rule was tried, which
filter did not match, in which bucket the person is. "-" as FILE is standard input.

Examples:

	flagstaff explain flags.json new-checkout user-1
	flagstaff explain -property plan=pro -property seats=7 flags.json new-checkout user-1
	flagstaff explain -group company=acme -group-property company.tier=free flags.json billing user-1`,
		Flags: append(given.Flags(), &cli.BoolFlag{Name: "json", Usage: "print the steps as JSON", Destination: &asJSON}),
		ShellComplete: Complete(func(cmd *cli.Command) []Candidate {
			return keysOf(cmd.Args().Slice())
		}),
		Action: func(_ context.Context, cmd *cli.Command) error {
			args, err := WantArgs(cmd, "FILE", "KEY", "PERSON")
			if err != nil {
				return err
			}
			request, err := given.Request(args[2])
			if err != nil {
				return err
			}
			files := Opener{Stdin: p.Stdin}
			d, err := files.document(args[0])
			if err != nil {
				return err
			}
			definitions, snapshot, err := d.snapshot()
			if err != nil {
				return err
			}
			trace, err := snapshot.Explain(args[1], request)
			switch {
			case errors.Is(err, flags.ErrUnknownFlag):
				return unknownFlag(d, definitions, args[1])
			case err != nil:
				return err
			case asJSON:
				return p.JSON(trace)
			}
			return p.PrintText(trace.String())
		},
	}
}

// unknownFlag says that a document has no such flag, and what may be meant.
func unknownFlag(d *document, definitions *flags.Definitions, key string) error {
	question := ""
	if near := nearest.Names(keys(definitions), key); len(near) > 0 {
		question = "; did you mean " + Choices(near, "") + "?"
	}
	return fmt.Errorf("%s has no flag %q%s", d.path, key, question)
}

func keys(definitions *flags.Definitions) (list []string) {
	for i := range definitions.Flags {
		list = append(list, definitions.Flags[i].Key)
	}
	return list
}

// keysOf returns the keys of flags in a file, if that is all that was typed.
func keysOf(args []string) (list []Candidate) {
	if len(args) != 1 || args[0] == "-" {
		return nil
	}
	var files Opener
	d, err := files.document(args[0])
	if err != nil {
		return nil
	}
	definitions, err := d.definitions()
	if err != nil {
		return nil
	}
	for i := range definitions.Flags {
		list = append(list, Candidate{definitions.Flags[i].Key, definitions.Flags[i].Name})
	}
	return list
}

// RequestFlags are the flags of commands that evaluate flags for one person.
type RequestFlags struct {
	properties, groups, groupProperties, contexts []string
	device, anonymous, runtime, now               string
}

func (r *RequestFlags) Flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "property", Usage: "a property of the person, `NAME=VALUE`; VALUE is JSON, such as 7, true or [\"a\"], or else a text. May be given again", Destination: &r.properties},
		&cli.StringSliceFlag{Name: "group", Usage: "a group of the person, `TYPE=KEY`. May be given again", Destination: &r.groups},
		&cli.StringSliceFlag{Name: "group-property", Usage: "a property of the group of a type, `TYPE.NAME=VALUE`. May be given again", Destination: &r.groupProperties},
		&cli.StringSliceFlag{Name: "context", Usage: "an evaluation context of the caller, `NAME`. May be given again", Destination: &r.contexts},
		&cli.StringFlag{Name: "runtime", Usage: "the runtime of the caller, `RUNTIME`: client or server. Without it, flags for either are seen", Destination: &r.runtime},
		&cli.StringFlag{Name: "device", Usage: "the `ID` of the person's device", Destination: &r.device},
		&cli.StringFlag{Name: "anonymous", Usage: "the `ID` of the person before identification", Destination: &r.anonymous},
		&cli.StringFlag{Name: "now", Usage: "the `TIME` from which relative dates count, such as 2026-03-01T12:00:00Z. Without it, now", Destination: &r.now},
	}
}

// Request returns the request of the person.
func (r *RequestFlags) Request(person string) (*flags.Request, error) {
	request := &flags.Request{
		DistinctID: person, DeviceID: r.device, AnonymousID: r.anonymous,
		PersonProperties: make(map[string]any), Groups: make(map[string]string), GroupProperties: make(map[string]map[string]any),
		Filter: runtime.Filter{Kind: runtime.All, Tags: r.contexts},
	}
	for _, text := range r.properties {
		name, value, ok := property(text)
		if !ok {
			return nil, BadValue("property", text, "NAME=VALUE, such as plan=pro")
		}
		request.PersonProperties[name] = value
	}
	for _, text := range r.groups {
		groupType, key, ok := strings.Cut(text, "=")
		if !ok || groupType == "" || key == "" {
			return nil, BadValue("group", text, "TYPE=KEY, such as company=acme")
		}
		request.Groups[groupType] = key
	}
	for _, text := range r.groupProperties {
		groupType, rest, ok := strings.Cut(text, ".")
		name, value, also := property(rest)
		if !ok || !also || groupType == "" {
			return nil, BadValue("group-property", text, "TYPE.NAME=VALUE, such as company.tier=free")
		}
		if request.Groups[groupType] == "" {
			return nil, WrongUsage("flag -group-property %s needs the group: -group %s=KEY", text, groupType)
		}
		if request.GroupProperties[groupType] == nil {
			request.GroupProperties[groupType] = make(map[string]any)
		}
		request.GroupProperties[groupType][name] = value
	}
	switch strings.ToLower(r.runtime) {
	case "":
	case "client":
		request.Filter.Kind = runtime.Client
	case "server":
		request.Filter.Kind = runtime.Server
	default:
		return nil, BadValue("runtime", r.runtime, "client or server")
	}
	now, err := momentOf(r.now)
	request.Now = now
	return request, err
}

// momentOf reads the value of -now.
func momentOf(text string) (now time.Time, err error) {
	if text == "" {
		return now, nil
	}
	if now, err = time.Parse(time.RFC3339, text); err != nil {
		return now, BadValue("now", text, "a time such as 2026-03-01T12:00:00Z")
	}
	return now, nil
}

// property reads NAME=VALUE.
func property(text string) (name string, value any, ok bool) {
	name, raw, ok := strings.Cut(text, "=")
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber() // keeps numbers as they are written
	if d.Decode(&value) != nil || d.InputOffset() != int64(len(raw)) {
		value = raw
	}
	return name, value, ok && name != ""
}
