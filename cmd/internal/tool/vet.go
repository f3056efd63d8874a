package tool

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/position"
	"github.com/flagstaff-go/flagstaff/vet"
)

// A vetCall is one call of vet.
type vetCall struct {
	Connection
	file, config, tags            string
	unused, tests, fix, json, lax bool
}

// vetCommand checks the use of flags in Go code.
func (p *Program) vetCommand() *cli.Command {
	var c vetCall
	return &cli.Command{
		Name:     "vet",
		Category: ofCode,
		Usage:    "find wrong uses of flags in Go code",
		UsageText: ProgramName + " vet -flags FILE [-config FILE] [-unused] [-tests] [-fix] [-json] [-lenient] [PACKAGE…]\n" +
			ProgramName + " vet [FLAGS] -url URL [PACKAGE…]",
		Description: `Vet checks the Go code of packages, by default ./..., against FILE, a definitions document,
or against the flags of a server. It knows calls of this library, of its handles, of
OpenFeature's SDK and of posthog-go by their types, and follows constants. It prints
FILE:LINE:COLUMN: MESSAGE [RULE] for each finding, and the exit code is 1 if there is one.

Rules:

	unknown-key      no flag has the key
	wrong-type       the flag has no value of the type that is asked for
	unknown-variant  the flag has no such variant, as a fallback, in a comparison or a case
	missing-variant  a switch leaves a variant out, and has no default
	payload-member   payloads and their struct in Go have other members
	archived         the flag is archived
	inactive         the flag is switched off
	constant         the flag has the same value for every request
	missing-context  the request, a literal, does not have what the flag looks at
	unused-handle    no code uses the variable that NewBool and the like have made
	unused-flag      no code reads the flag, with -unused
	expired          an entry of the ignore list has passed its date

A file .flagstaff-vet.yaml, in the working folder or above it, says the same as the flags
here, and besides what is ignored:

	flags: flags.json
	rules:
	  inactive: off        # or error, or warning
	ignore:
	  - rule: constant
	    key: checkout-*
	    path: internal/shop
	    reason: the release of May removes it
	    until: 2027-05-31

Examples:

	flagstaff vet -flags flags.json ./...
	flagstaff vet -unused -url https://flags.example.com
	flagstaff vet -flags flags.json -fix ./internal/...

Go vet and golangci-lint can do this, too: see package vet of
github.com/flagstaff-go/flagstaff/vet.`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "flags", Usage: "the `FILE` of the definitions; \"-\" is standard input", Destination: &c.file},
			&cli.StringFlag{Name: "config", Usage: "the `FILE` of the configuration (default " + vet.ConfigFile + " in the working folder or above it)", Destination: &c.config},
			&cli.BoolFlag{Name: "unused", Usage: "report flags that no code reads, too", Destination: &c.unused},
			&cli.BoolFlag{Name: "tests", Usage: "check files of tests, too", Destination: &c.tests},
			&cli.StringFlag{Name: "tags", Usage: "build tags of the Go code, as `LIST` for the go command", Destination: &c.tags},
			&cli.BoolFlag{Name: "fix", Usage: "write keys and variants that are misspelt as they are meant", Destination: &c.fix},
			&cli.BoolFlag{Name: "json", Usage: "print a list of objects with rule, severity, file, line, column, flag, message and fixes", Destination: &c.json},
			&cli.BoolFlag{Name: "lenient", Usage: "fail for errors only, not for warnings", Destination: &c.lax},
		}, c.Connection.Flags()...),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if c.file != "" && c.URL != "" {
				return WrongUsage("flags -flags and -url exclude each other")
			}
			return p.vet(ctx, &c, cmd.Args().Slice())
		},
	}
}

func (p *Program) vet(ctx context.Context, c *vetCall, patterns []string) error {
	config, err := vet.FindConfig(".", c.config)
	if err != nil {
		return err
	}
	config.Tests, config.Unused = config.Tests || c.tests, config.Unused || c.unused
	d, definitions, err := p.definitionsToVet(ctx, c, config)
	if err != nil {
		return err
	}
	o := vet.Options{Definitions: definitions, Config: config, Env: p.environWithoutKey()}
	if c.tags != "" {
		o.BuildFlags = []string{"-tags=" + c.tags}
	}
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	findings, err := vet.Run(ctx, o, patterns...)
	if err != nil {
		return p.inLines(err)
	}
	d.place(findings)
	if c.fix {
		if findings, err = p.fix(findings); err != nil {
			return err
		}
	}
	return p.printFindings(findings, c)
}

// environWithoutKey returns the environment for the go command, which needs no key.
func (p *Program) environWithoutKey() []string {
	return slices.DeleteFunc(slices.Clone(p.Environ), func(variable string) bool { return strings.HasPrefix(variable, "FLAGSTAFF_KEY=") })
}

// A vetted is where definitions come from.
type vetted struct {
	path string // "" for a server
	text []byte
}

// wrong says of an error where in the definitions it is.
func (d *vetted) wrong(err error) error {
	if d.path == "" {
		return fmt.Errorf("the server: %w", err)
	}
	return fmt.Errorf("%s:%v: %w", d.path, position.New(d.text).Error(err), err)
}

// definitionsToVet returns the definitions that the flags or the configuration name.
func (p *Program) definitionsToVet(ctx context.Context, c *vetCall, config *vet.Config) (*vetted, *vet.Definitions, error) {
	d, err := p.documentOfCode(ctx, c.file, &c.Connection, config)
	if err != nil {
		return nil, nil, err
	}
	definitions, err := vet.ReadDefinitions(d.text)
	if err != nil {
		return nil, nil, d.wrong(err)
	}
	return d, definitions, nil
}

// documentOfCode returns the document of a file, or of a server, or of what the
// configuration names without either.
func (p *Program) documentOfCode(ctx context.Context, file string, c *Connection, config *vet.Config) (*vetted, error) {
	if file == "" && c.URL == "" {
		file, c.URL = config.Flags, config.URL
		c.Project = cmp.Or(c.Project, config.Project)
	}
	if file == "" {
		if cmp.Or(c.URL, p.Getenv("FLAGSTAFF_URL")) == "" {
			return nil, WrongUsage("want the definitions: a file by -flags, or a server by -url or FLAGSTAFF_URL")
		}
		text, err := p.projectToVet(ctx, c)
		return &vetted{"", text}, err
	}
	files := Opener{Stdin: p.Stdin}
	d, err := files.document(file)
	if err != nil {
		return nil, err
	}
	return &vetted{d.path, d.text}, nil
}

// projectToVet returns the flags and cohorts of a server as a document.
func (p *Program) projectToVet(ctx context.Context, c *Connection) ([]byte, error) {
	client, err := p.Client(c)
	if err != nil {
		return nil, err
	}
	done, stop := p.Counting("fetched %d flags and cohorts")
	defer stop()
	project, err := FetchProject(ctx, client, done)
	if err != nil {
		return nil, err
	}
	for _, note := range project.Notes {
		fmt.Fprintf(p.Stderr, "note: %s\n", Printable(note))
	}
	return project.Document()
}

// place sets the places of findings that are about a flag alone.
func (d *vetted) place(findings []vet.Finding) {
	if d.path == "" {
		return
	}
	find := position.New(d.text)
	for i := range findings {
		if f := &findings[i]; f.File == "" {
			at := find.Problem(flags.Problem{DefinitionError: &flags.DefinitionError{Flag: f.Flag}})
			f.File, f.Line, f.Column = d.path, at.Line, at.Column
		}
	}
}

func (p *Program) printFindings(findings []vet.Finding, c *vetCall) error {
	counts := make(map[flags.Severity]int)
	for _, f := range findings {
		counts[f.Severity]++
	}
	summary := "no problems"
	if len(findings) > 0 {
		summary = fmt.Sprintf("%s, %s", Count(counts[flags.SeverityError], "error"), Count(counts[flags.SeverityWarning], "warning"))
	}
	if err := printList(p, findings, c.json, summary); err != nil {
		return err
	}
	if counts[flags.SeverityError] > 0 || !c.lax && len(findings) > 0 {
		return ErrFound
	}
	return nil
}

// fix writes what the findings say is meant, and returns the findings that remain.
func (p *Program) fix(findings []vet.Finding) (left []vet.Finding, err error) {
	edits := make(map[string][]vet.Fix)
	left = []vet.Finding{}
	for _, f := range findings {
		if len(f.Fixes) == 0 {
			left = append(left, f)
			continue
		}
		e := f.Fixes[0]
		// Two findings may want the same.
		if !slices.Contains(edits[e.File], e) {
			edits[e.File] = append(edits[e.File], e)
		}
	}
	for file, list := range edits {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(list, func(a, b vet.Fix) int { return cmp.Compare(b.Start, a.Start) })
		for _, e := range list {
			// Fixes replace literals of strings.
			if e.Start >= e.End || e.End > len(text) || !bytes.ContainsRune([]byte("\"`"), rune(text[e.Start])) || text[e.Start] != text[e.End-1] {
				return nil, errors.New(file + " has changed while it was checked: nothing is written to it")
			}
			text = slices.Concat(text[:e.Start], []byte(e.New), text[e.End:])
		}
		if err := WriteFile(file, text); err != nil {
			return nil, err
		}
	}
	return left, nil
}
