package serve

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// unattendedDrain is the default of -drain if no person waits for the program to
// end.
const unattendedDrain = 3 * time.Second

// unattended reports whether standard error is a file, a pipe or the like, and no
// terminal.
func unattended(stderr io.Writer) bool {
	f, ok := stderr.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return true
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(info, null)
}

// explain says what to type instead of a command line that package flag refuses.
func explain(set *flag.FlagSet, err error) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		return fmt.Errorf("there is no flag -%s%s", name, cmp.Or(didYouMean(set, name), "; see -help"))
	}
	if name, ok := strings.CutPrefix(text, "bad flag syntax: "); ok {
		return fmt.Errorf("%s is not a flag%s", name, cmp.Or(didYouMean(set, strings.TrimLeft(name, "-")), "; see -help"))
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		value, _ := flag.UnquoteUsage(set.Lookup(name))
		return fmt.Errorf("flag -%s needs a value: -%s %s", name, name, value)
	}
	return errors.New(readable(text))
}

// flagName finds the names of flags in the errors of check, and optionName all that may be
// one.
var (
	flagName   = regexp.MustCompile(`flag -([a-z-]+[a-z])`)
	optionName = regexp.MustCompile(`-([a-z][a-z-]*[a-z])`)
)

// bySource names where a setting comes from in an error, instead of the flag, if source
// knows it.
func bySource(err error, source func(name string) string) error {
	return errors.New(flagName.ReplaceAllStringFunc(err.Error(), func(text string) string {
		return cmp.Or(source(strings.TrimPrefix(text, "flag -")), text)
	}))
}

// readable replaces what package flag says of values that are not true or false.
func readable(text string) string {
	return strings.ReplaceAll(text, "parse error", "want true or false")
}

// unexpected says what to type instead of an argument that belongs to no flag.
func unexpected(set *flag.FlagSet, args []string) error {
	word := set.Arg(0)
	if i := len(args) - set.NArg(); i > 0 && (word == "true" || word == "false") {
		if name := strings.TrimLeft(args[i-1], "-"); set.Lookup(name) != nil {
			return fmt.Errorf("unexpected argument %q: write -%s=%s", word, name, word)
		}
	}
	switch word {
	case "serve", "server", "start", "run", "up":
		return fmt.Errorf("unexpected argument %q: leave it out, and the program serves", word)
	}
	return fmt.Errorf("unexpected argument %q%s", word, cmp.Or(didYouMean(set, word), ": all settings are flags, see -help"))
}

// otherNames are names that other programs have for a flag.
var otherNames = map[string]string{
	"port": "addr", "p": "addr", "host": "addr", "listen": "addr", "bind": "addr", "http": "addr", "address": "addr", "adress": "addr",
	"db": "store", "database": "store", "database-url": "store", "dsn": "store", "data": "store", "sqlite": "store", "postgres": "store",
	"nats": "stream", "jetstream": "stream", "file": "flags", "definitions": "flags", "configuration": "config", "conf": "config",
	"verbose": "log-level", "v": "log-level", "debug": "log-level", "quiet": "log-level",
	"retention": "retain", "keep": "retain", "ttl": "retain",
	"proxy": "trusted-proxies", "proxies": "trusted-proxies", "mail": "smtp", "email": "admin-email", "secret": "secret-key-file",
}

// examples are values for flags that are often wanted and not guessed.
var examples = map[string]string{"addr": "127.0.0.1:8000", "log-level": "debug"}

// didYouMean returns a question about the flags whose names are closest to a word,
// or nothing if none is close.
func didYouMean(set *flag.FlagSet, word string) string {
	near := nearNames(set, word)
	for i, name := range near {
		value, _ := flag.UnquoteUsage(set.Lookup(name))
		if example, ok := examples[name]; ok {
			value += ", such as -" + name + " " + example
		}
		near[i] = strings.TrimSpace("-" + name + " " + value)
	}
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, ", or ") + "?"
}

func flagNames(set *flag.FlagSet) (names []string) {
	set.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	return names
}

// clientVariables are the variables of the commands that talk to a server.
var clientVariables = []string{"FLAGSTAFF_URL", "FLAGSTAFF_KEY", "FLAGSTAFF_FROM_KEY", "FLAGSTAFF_DECRYPTION_KEY", "FLAGSTAFF_PROJECT"}

// unknownVariables returns a sentence for each variable of the environment that
// looks like a setting and is none. Tests have variables of their own, and so have the
// other commands of the program.
func unknownVariables(set *flag.FlagSet, environ []string) (sentences []string) {
	known := make(map[string]bool)
	for _, name := range flagNames(set) {
		known[envName(name)] = true
	}
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		word, ours := strings.CutPrefix(name, envPrefix)
		if !ours || known[name] || strings.HasPrefix(word, "TEST_") || slices.Contains(clientVariables, name) {
			continue
		}
		question := ""
		if near := nearNames(set, word); len(near) > 0 {
			question = "; did you mean " + envName(near[0]) + "?"
		}
		sentences = append(sentences, fmt.Sprintf("the environment variable %s sets nothing%s", name, question))
	}
	slices.Sort(sentences)
	return sentences
}
