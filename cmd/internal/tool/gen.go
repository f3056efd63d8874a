package tool

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/internal/gen"
	"github.com/flagstaff-go/flagstaff/internal/words"
)

// A genCall is one call of gen.
type genCall struct {
	Connection
	to, name  string
	selection gen.Selection
	types     []string
	check     bool
}

// genCommand writes Go code for flags.
func (p *Program) genCommand() *cli.Command {
	var c genCall
	return &cli.Command{
		Name:     "gen",
		Category: ofCode,
		Usage:    "write Go code by which a program asks for its flags",
		UsageText: ProgramName + " gen [-o FILE.go] [-package NAME] [-only PATTERN] [-tags TAG] [-exclude PATTERN] [-type KEY=TYPE] FILE\n" +
			ProgramName + " gen [FLAGS] -url URL\n" +
			ProgramName + " gen -check -o FILE.go [FLAGS] FILE",
		Description: `Gen reads FILE, a definitions document or a manifest of OpenFeature, or the flags of a
server, and writes one file of Go: a handle for each flag, a type with constants for the
variants, and a struct for the payloads. A misspelt key does not compile any more, and
editors show what a flag is for. "-" is standard input. The same flags give the same bytes.

A name is the key in Go's spelling: new-checkout is NewCheckout, and the variant green of
button is ButtonGreen. Of two names that are equal, the second gets a number. A payload
gets the type that fits all payloads of the flag, json.RawMessage where they differ.
Archived flags are deprecated, for linters to see.

With -check nothing is written: the exit code is 1 if the file does not fit the flags, and
the difference is printed. Comments may differ: they say for how many a flag is on.

Examples:

	flagstaff gen -o flags_gen.go flags.json
	flagstaff gen -o checkout/flags.go -only 'checkout-*' -url https://flags.example.com
	flagstaff gen -check -o flags_gen.go flags.json

In a file of the package, for go generate:

	//go:generate go tool flagstaff gen -o flags_gen.go flags.json`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "o", Usage: "write to `FILE.go` instead of standard output", Destination: &c.to},
			&cli.StringFlag{Name: "package", Usage: "the `NAME` of the package (default GOPACKAGE, as go generate sets it, or what the files of the folder say, or its name)", Destination: &c.name},
			&cli.StringSliceFlag{Name: "only", Usage: "only flags whose keys are like `PATTERN`, in which * is any text. May be given again", Destination: &c.selection.Only},
			&cli.StringSliceFlag{Name: "tags", Usage: "only flags with `TAG`, or with this evaluation context. May be given again", Destination: &c.selection.Tags},
			&cli.StringSliceFlag{Name: "exclude", Usage: "no flags whose keys are like `PATTERN`. May be given again", Destination: &c.selection.Exclude},
			&cli.StringSliceFlag{Name: "type", Usage: "`KEY=TYPE`: the payload of the flag KEY is a TYPE, such as Button, or example.com/shop/theme.Button. May be given again", Destination: &c.types},
			&cli.BoolFlag{Name: "check", Usage: "write nothing, and fail if the file of -o does not fit the flags", Destination: &c.check},
		}, c.Flags()...),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			args := cmd.Args().Slice()
			switch {
			case len(args) > 0 && c.URL != "":
				return WrongUsage("want a FILE or -url, not both; see %s -help", cmd.FullName())
			case len(args) == 0 && cmp.Or(c.URL, p.Getenv("FLAGSTAFF_URL")) == "":
				return WrongUsage("want a FILE, or a server by -url or FLAGSTAFF_URL; see %s -help", cmd.FullName())
			case len(args) > 1:
				_, err := WantArgs(cmd, "FILE")
				return err
			case c.check && (c.to == "" || c.to == "-"):
				return WrongUsage("flag -check needs the file: -check -o FILE.go")
			}
			code, err := p.generate(ctx, &c, args)
			if err != nil {
				return err
			}
			return p.putCode(&c, code)
		},
	}
}

// generate returns the code.
func (p *Program) generate(ctx context.Context, c *genCall, args []string) (_ []byte, err error) {
	o := gen.Options{Package: cmp.Or(c.name, p.Getenv("GOPACKAGE"), packageOf(c.to))}
	if c.name != "" && !token.IsIdentifier(c.name) {
		return nil, BadValue("package", c.name, "a name such as flags")
	}
	if o.Types, err = pairs("type", "KEY=TYPE, such as button=Button", c.types); err != nil {
		return nil, err
	}
	var document []byte
	where := func(error) string { return "the server" }
	if len(args) == 0 {
		if document, err = p.flagsOfServer(ctx, &c.Connection); err != nil {
			return nil, err
		}
	} else {
		files := Opener{Stdin: p.Stdin}
		d, err := files.document(args[0])
		if err != nil {
			return nil, err
		}
		document = d.text
		where = func(err error) string { return fmt.Sprintf("%s:%v", d.path, d.find.Error(err)) }
	}
	list, notes, err := gen.Read(document)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where(err), err)
	}
	for _, note := range notes {
		fmt.Fprintf(p.Stderr, "note: %s\n", Printable(note))
	}
	describeRollouts(list)
	if list, err = c.selection.Apply(list); err != nil {
		return nil, err
	}
	return gen.Code(list, o)
}

// flagsOfServer returns the flags of a server as a document.
func (p *Program) flagsOfServer(ctx context.Context, c *Connection) ([]byte, error) {
	client, err := p.Client(c)
	if err != nil {
		return nil, err
	}
	done, stop := p.Counting("fetched %d flags")
	defer stop()
	list, err := fetchFlags(ctx, client, done)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"flags": list})
}

// describeRollouts says for whom flags are on.
func describeRollouts(list []gen.Flag) {
	names := words.NewNames()
	for i := range list {
		names.Flags[strconv.FormatInt(list[i].ID, 10)] = list[i].Key
	}
	for i := range list {
		f := &list[i]
		switch {
		case f.Filters == nil: // a manifest does not say it
		case !f.Active:
			f.Rollout = words.NoOne + ": it is switched off"
		default:
			f.Rollout = names.Audience(f.Filters)
		}
	}
}

// packageOf returns the package of a file: as the file says, or another one in its folder,
// or the name of the folder as far as it can be one.
func packageOf(file string) string {
	folder, err := filepath.Abs(filepath.Dir(file))
	if err != nil || file == "" || file == "-" {
		return "flags"
	}
	names := []string{filepath.Base(file)}
	entries, _ := os.ReadDir(folder) // to write the file will say what is wrong
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			names = append(names, name)
		}
	}
	for _, name := range names {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, name), nil, parser.PackageClauseOnly)
		if err == nil {
			return parsed.Name.Name
		}
	}
	letters := slices.DeleteFunc([]rune(strings.ToLower(filepath.Base(folder))), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	if name := string(letters); token.IsIdentifier(name) {
		return name
	}
	return "flags"
}

// putCode writes the code, or compares it with the file.
func (p *Program) putCode(c *genCall, code []byte) error {
	if c.to == "" || c.to == "-" {
		_, err := p.Stdout.Write(code)
		return err
	}
	there, err := os.ReadFile(c.to)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err == nil && bytes.Equal(there, code):
		return nil
	case !c.check:
		if err == nil && !generated(there) {
			return fmt.Errorf("%s was not made by gen: remove it first, or write to another file", c.to)
		}
		return WriteFile(c.to, code)
	case err == nil && gen.SameCode(there, code):
		return nil
	}
	diff, err := gen.Diff(c.to, c.to+" (as the flags are)", there, code)
	if err != nil {
		return err
	}
	if err := p.Print("%s", strings.TrimSuffix(diff, "\n")); err != nil {
		return err
	}
	return fmt.Errorf("%s does not fit the flags: run %s gen again", c.to, ProgramName)
}

// generated reports whether a file of Go says that a program has made it.
func generated(code []byte) bool {
	return len(code) == 0 || bytes.HasPrefix(code, []byte("// Code generated by "+ProgramName+" gen."))
}
