package tool

import (
	"context"
	"embed"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v3"
)

// Each script asks the program itself for candidates: it calls it with the words of
// the command line up to the one that is being typed, which is added if it begins with
// a hyphen, and a marker. The program prints a candidate and what it is in each line,
// with a tab between them.
//
//go:embed completion
var completionScripts embed.FS

var shells = []string{"bash", "zsh", "fish"}

// completionCommand prints the script that makes a shell complete command lines.
func (p *Program) completionCommand() *cli.Command {
	cmd := &cli.Command{
		Name:      "completion",
		Category:  ofMore,
		Usage:     "print a script that makes a shell complete command lines",
		UsageText: ProgramName + " completion bash|zsh|fish",
		Description: `Completion prints a script for a shell, which completes commands, flags and, where a
file is named before them, the keys of flags.

Examples:

	source <(flagstaff completion bash)          in ~/.bashrc
	source <(flagstaff completion zsh)           in ~/.zshrc, after compinit
	flagstaff completion fish > ~/.config/fish/completions/flagstaff.fish`,
	}
	for _, shell := range shells {
		cmd.Commands = append(cmd.Commands, &cli.Command{
			Name:      shell,
			Usage:     "print the script for " + shell,
			UsageText: ProgramName + " completion " + shell,
			Action: func(_ context.Context, cmd *cli.Command) error {
				if _, err := WantArgs(cmd); err != nil {
					return err
				}
				script, err := completionScripts.ReadFile("completion/" + shell)
				if err != nil {
					return err
				}
				_, err = p.Stdout.Write(script)
				return err
			},
		})
	}
	return cmd
}

// A Candidate is something that the user may want to type next.
type Candidate struct{ Word, Usage string }

// Complete returns the function that prints the candidates for the next word: flags if
// it begins with a hyphen, else the commands below a command and what arguments yields,
// which may be nil.
func Complete(arguments func(cmd *cli.Command) []Candidate) cli.ShellCompleteFunc {
	return func(_ context.Context, cmd *cli.Command) {
		w := cmd.Root().Writer
		args := cmd.Args().Slice()
		if len(args) > 0 && strings.HasPrefix(args[len(args)-1], "-") && !cmd.SkipFlagParsing {
			for _, f := range cmd.VisibleFlags() {
				_, usage := unquote(f)
				printCandidates(w, []Candidate{{"-" + f.Names()[0], usage}})
			}
			return
		}
		printCandidates(w, commandsOf(cmd))
		if arguments != nil {
			printCandidates(w, arguments(cmd))
		}
	}
}

func commandsOf(cmd *cli.Command) (list []Candidate) {
	for _, c := range visible(cmd) {
		list = append(list, Candidate{c.Name, c.Usage})
	}
	return list
}

func printCandidates(w io.Writer, list []Candidate) {
	for _, c := range list {
		// The first sentence is enough, and long lines do not help.
		usage, _, _ := strings.Cut(c.Usage, ";")
		fmt.Fprintf(w, "%s\t%s\n", Printable(c.Word), Printable(usage))
	}
}
