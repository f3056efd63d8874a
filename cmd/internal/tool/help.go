package tool

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v3"
)

// variables are those of the environment that commands of every program read.
const variables = `
Environment:

  FLAGSTAFF_URL
        the address of the server, for commands that talk to one; or the flag -url
  FLAGSTAFF_KEY
        the personal API key for it. There is no flag for it: everybody on a machine
        can see the arguments of a program
  FLAGSTAFF_PROJECT
        the ID of the project, if it is not the current one of the key's user; or the
        flag -project
  FLAGSTAFF_FROM_KEY
        the key for the server or the product that -from names
  FLAGSTAFF_DECRYPTION_KEY
        the key of a file of GrowthBook that is encrypted; it stays on this machine
`

// rootHelp ends the help of the program as a whole.
const rootHelp = `
The exit code is 0 if all is well, 1 if a command has found what it looks for, such as
a fault, or has failed, and 2 if it was called wrongly. Commands say if they have others.
`

// furtherVariables is what the root command has of the environment for its help.
const furtherVariables = "variables"

// printHelp prints the help for a command. The library passes a template, which is not
// used.
func printHelp(w io.Writer, _ string, cmd *cli.Command) {
	name := cmd.FullName()
	fmt.Fprintf(w, "%s: %s\n", name, cmd.Usage)
	fmt.Fprint(w, "\nUsage:\n\n")
	usage := cmd.UsageText
	usage = cmp.Or(usage, name+" COMMAND [FLAGS] [ARGUMENTS]")
	for line := range strings.Lines(usage) {
		fmt.Fprintf(w, "\t%s\n", strings.TrimSpace(line))
	}
	if cmd.Description != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(cmd.Description))
	}
	printCommands(w, cmd)
	if flags := cmd.VisibleFlags(); len(flags) > 0 {
		fmt.Fprint(w, "\nFlags:\n\n")
		for _, f := range flags {
			name, text := unquote(f)
			fmt.Fprintf(w, "  %s\n        %s\n", strings.TrimSpace("-"+f.Names()[0]+" "+name), text)
		}
	}
	if cmd.Root() == cmd {
		fmt.Fprintf(w, "%s%v%s", variables, cmd.Metadata[furtherVariables], rootHelp)
	}
}

// printCommands prints the commands below a command, by category.
func printCommands(w io.Writer, cmd *cli.Command) {
	category, width := "", 0
	for _, c := range visible(cmd) {
		width = max(width, len(c.Name))
	}
	for i, c := range visible(cmd) {
		if i == 0 || c.Category != category {
			category = c.Category
			title := category
			title = cmp.Or(title, "Commands")
			fmt.Fprintf(w, "\n%s:\n\n", title)
		}
		fmt.Fprintf(w, "  %-*s  %s\n", width, c.Name, c.Usage)
	}
}

// unquote returns the name of a flag's value, which stands between backquotes in its
// help text, and the text without them.
func unquote(f cli.Flag) (name, text string) {
	described, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return "", ""
	}
	text = described.GetUsage()
	if before, rest, ok := strings.Cut(text, "`"); ok {
		if inside, after, ok := strings.Cut(rest, "`"); ok {
			return inside, before + inside + after
		}
	}
	if described.TakesValue() {
		return "VALUE", text
	}
	return "", text
}

func valueName(f cli.Flag) string {
	name, _ := unquote(f)
	return name
}
