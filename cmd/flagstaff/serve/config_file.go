package serve

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/flagstaff-go/flagstaff/internal/nearest"
)

// maxConfig is how large the file of -config may be.
const maxConfig = 1 << 20 // bytes

// A fileSetting is an option in the file of -config.
type fileSetting struct {
	name, value string
	line        int
}

// readConfig reads the file of -config: YAML with the names of the options and their values
// as on the command line. Options whose values are comma-separated also take a list. It
// returns the settings in order, and all that is wrong, with lines.
func readConfig(set *flag.FlagSet, path string) (list []fileSetting, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the file of -config: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("the file of -config: %w", err)
	}
	if len(text) > maxConfig {
		return nil, fmt.Errorf("the file of -config: %s has more than %d bytes", path, maxConfig)
	}
	list, errs := parseConfig(set, text)
	for i, err := range errs {
		errs[i] = fmt.Errorf("%s:%w", path, err)
	}
	return list, errors.Join(errs...)
}

// yamlFault finds the line in an error of the parser.
var yamlFault = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// parseConfig reads the text of a configuration. Its errors begin with the number of a line.
func parseConfig(set *flag.FlagSet, text []byte) (list []fileSetting, errs []error) {
	wrong := func(line int, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%d: %w", line, fmt.Errorf(format, args...)))
	}
	var document yaml.Node
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	switch err := d.Decode(&document); {
	case errors.Is(err, io.EOF): // nothing but comments
		return nil, nil
	case err != nil:
		line, text := "1", err.Error() // some errors have no line
		if m := yamlFault.FindStringSubmatch(text); m != nil {
			line, text = cmp.Or(m[1], line), m[2]
		}
		return nil, []error{fmt.Errorf("%s: %s", line, text)}
	}
	if d.Decode(new(yaml.Node)) == nil {
		return nil, []error{errors.New("1: the file has several documents, and wants one")}
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, []error{fmt.Errorf("%d: want options with their values, a line each, such as addr: 127.0.0.1:8000", root.Line)}
	}
	known := make(map[string]int) // lines
	for i := 0; i+1 < len(root.Content); i += 2 {
		name, value := root.Content[i], root.Content[i+1]
		f := set.Lookup(name.Value)
		switch {
		case f == nil:
			wrong(name.Line, "there is no option %q%s", name.Value, meantOption(set, name.Value))
			continue
		case f.Name == "config" || slices.Contains(once, f.Name):
			wrong(name.Line, "option %q is for the command line alone", f.Name)
			continue
		case known[f.Name] != 0:
			wrong(name.Line, "option %q is also in line %d", f.Name, known[f.Name])
			continue
		}
		known[f.Name] = name.Line
		text, err := configValue(f, value)
		if err != nil {
			wrong(value.Line, "option %q: %w", f.Name, err)
			continue
		}
		list = append(list, fileSetting{f.Name, text, value.Line})
	}
	return list, errs
}

// configValue returns the value of an option as it would be on the command line.
func configValue(f *flag.Flag, node *yaml.Node) (string, error) {
	switch {
	case node.Kind == yaml.ScalarNode && node.Tag != "!!null":
		return node.Value, nil
	case node.Kind == yaml.ScalarNode:
		return "", errors.New("it has no value; leave the line out, or write \"\" for an empty text")
	case node.Kind != yaml.SequenceNode:
		return "", errors.New("want a text, a number, or true or false")
	case !strings.Contains(f.Usage, "comma-separated"):
		return "", errors.New("want one value, not a list")
	}
	var words []string
	for _, word := range node.Content {
		if word.Kind != yaml.ScalarNode || word.Tag == "!!null" || strings.Contains(word.Value, ",") {
			return "", errors.New("want a list of texts without commas")
		}
		words = append(words, word.Value)
	}
	if len(words) == 0 {
		return "", errors.New("the list is empty; leave the option out")
	}
	return strings.Join(words, ","), nil
}

// meantOption returns a question about the options whose names are closest to a word, as the
// file of -config has them, or "".
func meantOption(set *flag.FlagSet, word string) string {
	near := nearNames(set, word)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, ", or ") + "?"
}

// nearNames returns the names of options that a word may mean.
func nearNames(set *flag.FlagSet, word string) []string {
	word = strings.ToLower(strings.ReplaceAll(strings.TrimLeft(word, "-"), "_", "-"))
	if name, ok := otherNames[word]; ok {
		return []string{name}
	}
	return nearest.Names(flagNames(set), word)
}

// hasPassword finds what is secret in a URL, such as that of a store.
var hasPassword = regexp.MustCompile(`://[^/@\s]*:[^@\s]+@|[?&](password|sslpassword)=`)

// exposed says which files with secrets every user of the machine can read.
func (s *settings) exposed() (sentences []string) {
	if runtime.GOOS == "windows" {
		return nil // modes of files say nothing there
	}
	look := func(path, has string) {
		info, err := os.Stat(path)
		if path != "" && err == nil && info.Mode().Perm()&0o004 != 0 {
			sentences = append(sentences, fmt.Sprintf("every user of this machine can read %s (mode %04o), which has %s; chmod o= takes that away",
				path, info.Mode().Perm(), has))
		}
	}
	var secret []string
	for _, o := range s.inFile {
		if hasPassword.MatchString(o.value) {
			secret = append(secret, o.name)
		}
	}
	if len(secret) > 0 {
		look(s.configFile, "the password of "+strings.Join(secret, " and "))
	}
	if path, _ := s.keyFile(); path != "" {
		look(path, "the keys of the store's secrets")
	}
	look(s.tlsKey, "the key of the certificate")
	look(s.summaries.keyFile, "the key of the service of -summary-url")
	return sentences
}
