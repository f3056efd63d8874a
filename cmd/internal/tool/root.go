package tool

import (
	"context"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/internal/nearest"
)

const ProgramName = "flagstaff"

// Groups of commands, in the order in which help lists them.
const (
	OfServer = "The server and its store"
	OfFlags  = "Flags of a server"
	ofFiles  = "Definitions in files"
	ofCode   = "Flags in code"
	ofMore   = "More"
)

// Commands returns all commands of the program.
func (p *Program) Commands() (list []*cli.Command) {
	if p.More != nil {
		list = p.More()
	}
	return append(list,
		p.checkCommand(),
		p.explainCommand(),
		p.diffCommand(),
		p.compareCommand(),
		p.genCommand(),
		p.vetCommand(),
		p.pruneCommand(),
		p.versionCommand(),
		p.completionCommand(),
		p.helpCommand(),
	)
}

// root returns the program as the library for command lines sees it. What the library
// prints by itself is replaced: its messages name neither the value nor what is wanted.
func (p *Program) root() *cli.Command {
	root := &cli.Command{
		Name:                      ProgramName,
		Usage:                     p.About,
		Commands:                  p.Commands(),
		Metadata:                  map[string]any{furtherVariables: p.Variables},
		HideHelpCommand:           true,
		HideVersion:               true,
		EnableShellCompletion:     true,
		DisableSliceFlagSeparator: true,
		Reader:                    p.Stdin,
		Writer:                    p.Stdout,
		ErrWriter:                 p.Stderr,
		ExitErrHandler:            func(context.Context, *cli.Command, error) {},
		// The name of a command cannot have a blank, so that nobody sees the one that the
		// library adds.
		ShellCompletionCommandName: "completion of the library",
	}
	_ = root.Walk(func(cmd *cli.Command) error {
		p.dress(root, cmd)
		return nil
	})
	return root
}

// dress gives a command what all commands have in common.
func (p *Program) dress(root, cmd *cli.Command) {
	cmd.DisableSliceFlagSeparator = true
	cmd.OnUsageError = func(_ context.Context, cmd *cli.Command, err error, _ bool) error {
		return commandError{cmd.FullName(), p.explain(root, cmd, err)}
	}
	if cmd.ShellComplete == nil {
		cmd.ShellComplete = Complete(nil)
	}
	action := cmd.Action
	if action == nil {
		action = withoutCommand
	}
	cmd.Action = func(ctx context.Context, cmd *cli.Command) error {
		var err error
		if words := cmd.Args().Slice(); len(visible(cmd)) > 0 && len(words) > 0 && words[0] == "help" {
			err = p.help(ctx, cmd, words[1:])
		} else {
			err = action(ctx, cmd)
		}
		if err != nil {
			return commandError{cmd.FullName(), err}
		}
		return nil
	}
}

// withoutCommand is the action of what only has commands.
func withoutCommand(_ context.Context, cmd *cli.Command) error {
	word := cmd.Args().First()
	if word == "" {
		printHelp(cmd.Root().ErrWriter, "", cmd)
		return errHelped
	}
	return unknownCommand(cmd, word)
}

// WithServer are the commands that only the program with the server has.
var WithServer = []string{"serve", "backup", "restore", "users", "flag", "import", "apply", "export"}

// whole is the program with the server.
const whole = "github.com/flagstaff-go/flagstaff/cmd/flagstaff"

// unknownCommand says what to type instead of a word that is not a command.
func unknownCommand(cmd *cli.Command, word string) error {
	if cmd == cmd.Root() && slices.Contains(WithServer, word) {
		return WrongUsage("command %q is not in this program, but in the one with the server: go install %s@latest", word, whole)
	}
	if near := nearest.Names(commandNames(cmd), word); len(near) > 0 {
		return WrongUsage("there is no command %q; did you mean %s?", word, Choices(near, cmd.FullName()+" "))
	}
	return WrongUsage("there is no command %q; see %s -help", word, cmd.FullName())
}

// explain says what to type instead of a command line that the parser refuses.
func (p *Program) explain(root, cmd *cli.Command, err error) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		name = strings.TrimLeft(name, "-")
		if near := nearest.Names(flagNames(cmd), name); len(near) > 0 {
			return WrongUsage("there is no flag -%s; did you mean %s?", name, Choices(near, "-"))
		}
		if cmd == root {
			if slices.Contains(commandNames(cmd), name) {
				return WrongUsage("there is no flag -%s; did you mean %s %s?", name, ProgramName, name)
			}
			if p.CommandOf != nil && p.CommandOf(name) != "" {
				return WrongUsage("there is no flag -%s; did you mean %s %s -%s?", name, ProgramName, p.CommandOf(name), name)
			}
		}
		return WrongUsage("there is no flag -%s; see %s -help", name, cmd.FullName())
	}
	if word, ok := strings.CutPrefix(text, "flag needs an argument: "); ok {
		name := strings.TrimLeft(word, "-")
		for _, f := range cmd.Flags {
			if slices.Contains(f.Names(), name) {
				return WrongUsage("flag -%s needs a value: -%s %s", name, name, valueName(f))
			}
		}
	}
	if m := wrongValue.FindStringSubmatch(text); m != nil {
		want := "true or false"
		if m[2] != "parse error" {
			want = "a whole number"
		}
		text = m[1] + "want " + want
	}
	return usageError{errors.New(text)}
}

// wrongValue finds what the parser says of values that are neither true nor false, and of
// values that are not numbers.
var wrongValue = regexp.MustCompile(`^(invalid value .* for flag -[a-z-]+: )(parse error|strconv\.ParseInt: .*)$`)

// Choices returns names with something before each, for a question.
func Choices(names []string, before string) string {
	return before + strings.Join(names, ", or "+before)
}

// visible returns the commands below a command, but for what the library adds.
func visible(cmd *cli.Command) (list []*cli.Command) {
	for _, c := range cmd.Commands {
		if !c.Hidden {
			list = append(list, c)
		}
	}
	return list
}

func commandNames(cmd *cli.Command) (names []string) {
	for _, c := range visible(cmd) {
		names = append(names, c.Name)
	}
	return names
}

func flagNames(cmd *cli.Command) (names []string) {
	for _, f := range cmd.VisibleFlags() {
		names = append(names, f.Names()...)
	}
	return names
}

// helpCommand prints help for a command.
func (p *Program) helpCommand() *cli.Command {
	return &cli.Command{
		Name:        "help",
		Category:    ofMore,
		Usage:       "print help for a command",
		UsageText:   ProgramName + " help [COMMAND…]",
		Description: "Help prints what a command does, its flags, and examples. Without a command it lists all of them.",
		ShellComplete: Complete(func(cmd *cli.Command) []Candidate {
			return commandsOf(follow(cmd.Root(), cmd.Args().Slice()))
		}),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			return p.help(ctx, cmd.Root(), cmd.Args().Slice())
		},
	}
}

// help prints help for the command that words name below another one.
func (p *Program) help(ctx context.Context, about *cli.Command, words []string) error {
	for _, word := range words {
		next := about.Command(word)
		if next == nil {
			return unknownCommand(about, word)
		}
		about = next
	}
	if about.SkipFlagParsing { // it has a help of its own
		return p.root().Run(ctx, []string{ProgramName, about.Name, "-help"})
	}
	printHelp(p.Stdout, "", about)
	return nil
}

// follow returns the command that words name, as far as they do.
func follow(cmd *cli.Command, words []string) *cli.Command {
	for _, word := range words {
		next := cmd.Command(word)
		if next == nil {
			break
		}
		cmd = next
	}
	return cmd
}

func init() {
	// The library prints help only by this function.
	cli.HelpPrinter = func(w io.Writer, template string, about any) {
		if cmd, ok := about.(*cli.Command); ok {
			printHelp(w, template, cmd)
		}
	}
	// It calls this one if words come before -help.
	cli.ShowCommandHelp = func(_ context.Context, cmd *cli.Command, word string) error {
		next := cmd.Command(word)
		switch {
		case len(visible(cmd)) == 0: // the word is an argument
			next = cmd
		case next == nil:
			return unknownCommand(cmd, word)
		}
		printHelp(cmd.Root().Writer, "", next)
		return nil
	}
	cli.HelpFlag = &cli.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "print this help", HideDefault: true, Local: true}
}
