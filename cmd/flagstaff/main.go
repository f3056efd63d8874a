package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	p := program{args: os.Args[1:], environ: os.Environ(), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	os.Exit(p.run(ctx))
}

// A program is one call of the program, without the process around it.
type program struct {
	args    []string
	environ []string
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
}

// Exit codes.
const (
	exitFound = 1 // also if a command fails
	exitUsage = 2
)

var (
	// errFound says that a command has found what it looks for, and has printed it.
	errFound = errors.New("found")

	// errHelped says that a command was called without what it needs, and that help has
	// been printed.
	errHelped = errors.New("helped")
)

// A usageError says that a command was called wrongly.
type usageError struct{ error }

// wrongUsage returns an error that says how a command was called wrongly.
func wrongUsage(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// An exit is the exit code of a command that has printed everything itself.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// A commandError has the name of the command that an error comes from.
type commandError struct {
	name string
	error
}

func (e commandError) Unwrap() error { return e.error }

// run does what the command line says and returns the exit code.
func (p *program) run(ctx context.Context) int {
	err := p.root().Run(ctx, append([]string{programName}, p.args...))
	code, silent := exit(0), errors.Is(err, errFound) || errors.Is(err, errHelped)
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
		name := programName
		if c, ok := errors.AsType[commandError](err); ok {
			name = c.name
		}
		fmt.Fprintf(p.stderr, "%s: %s\n", name, printable(told(err)))
	}
	return int(code)
}

// getenv returns the value of a variable, "" if there is none.
func (p *program) getenv(name string) string {
	for _, variable := range slices.Backward(p.environ) {
		if n, value, ok := strings.Cut(variable, "="); ok && n == name {
			return value
		}
	}
	return ""
}

// wantArgs returns the arguments of a command if there are as many as names. A last
// name that ends in "…" stands for one or more.
func wantArgs(cmd *cli.Command, names ...string) ([]string, error) {
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
	return nil, wrongUsage("want %s, not %s; see %s -help", want, given, cmd.FullName())
}

// badValue says that the value of a flag is wrong, as the parser of flags does.
func badValue(flag, value, want string) error {
	return wrongUsage("invalid value %q for flag -%s: want %s", value, flag, want)
}

// store returns the store of -store, of FLAGSTAFF_STORE, or the file that the server
// uses without either.
func (p *program) store(given string) string {
	return cmp.Or(given, p.getenv("FLAGSTAFF_STORE"), "flagstaff.db")
}
