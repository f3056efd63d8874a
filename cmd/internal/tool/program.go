package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
)

// A Program is one call of a program, without the process around it.
type Program struct {
	Args    []string
	Environ []string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer

	About     string                // what the program is, in a line
	More      func() []*cli.Command // before the commands of this package; may be nil
	Variables string                // those of the environment that More read, as the help lists them

	// CommandOf returns the command of More that has a flag which the parser does not know,
	// "" if none has. It may be nil.
	CommandOf func(flag string) string
}

// Exit codes.
const (
	exitFound = 1 // also if a command fails
	exitUsage = 2
)

var (
	// errFound says that a command has found what it looks for, and has printed it.
	ErrFound = errors.New("found")

	// errHelped says that a command was called without what it needs, and that help has
	// been printed.
	errHelped = errors.New("helped")
)

// A usageError says that a command was called wrongly.
type usageError struct{ error }

// WrongUsage returns an error that says how a command was called wrongly.
func WrongUsage(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// An Exit is the exit code of a command that has printed everything itself.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// A commandError has the name of the command that an error comes from.
type commandError struct {
	name string
	error
}

func (e commandError) Unwrap() error { return e.error }

// Run does what the command line says and returns the exit code.
func (p *Program) Run(ctx context.Context) int {
	err := p.root().Run(ctx, append([]string{ProgramName}, p.Args...))
	code, silent := Exit(0), errors.Is(err, ErrFound) || errors.Is(err, errHelped)
	switch _, usage := errors.AsType[usageError](err); {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case usage, errors.Is(err, errHelped):
		code = exitUsage
	default:
		code = exitFound
	}
	if !silent {
		name := ProgramName
		if c, ok := errors.AsType[commandError](err); ok {
			name = c.name
		}
		fmt.Fprintf(p.Stderr, "%s: %s\n", name, Printable(withAdvice(err)))
	}
	return int(code)
}

// Getenv returns the value of a variable, "" if there is none.
func (p *Program) Getenv(name string) string {
	for _, variable := range slices.Backward(p.Environ) {
		if n, value, ok := strings.Cut(variable, "="); ok && n == name {
			return value
		}
	}
	return ""
}

// WantArgs returns the arguments of a command if there are as many as names. A last
// name that ends in "…" stands for one or more.
func WantArgs(cmd *cli.Command, names ...string) ([]string, error) {
	args := cmd.Args().Slice()
	more := len(names) > 0 && strings.HasSuffix(names[len(names)-1], "…")
	if len(args) == len(names) || more && len(args) > len(names) {
		return args, nil
	}
	want := "no arguments"
	if n := len(names); n > 0 {
		want = names[n-1]
		if n > 1 {
			want = strings.Join(names[:n-1], ", ") + " and " + want
		}
	}
	given := fmt.Sprintf("%d arguments", len(args))
	if len(args) == 1 {
		given = fmt.Sprintf("1 argument, %q", args[0])
	}
	return nil, WrongUsage("want %s, not %s; see %s -help", want, given, cmd.FullName())
}

// BadValue says that the value of a flag is wrong, as the parser of flags does.
func BadValue(flag, value, want string) error {
	return WrongUsage("invalid value %q for flag -%s: want %s", value, flag, want)
}
