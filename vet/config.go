package vet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/nearest"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// ConfigFile is the name of the file that [FindConfig] looks for.
const ConfigFile = ".flagstaff-vet.yaml"

// Limits of a configuration.
const (
	maxConfig = 1 << 20 // bytes of a file
	maxIgnore = 10_000  // entries of the ignore list
)

// A Config says what is checked and what is ignored. The zero value checks everything.
type Config struct {
	// Path is the file, "" if there is none. Names of files in it are relative to its
	// folder.
	Path string

	// Flags is the file of the definitions. URL and Project are the server and the ID of
	// the project in place of it, for programs that can ask a server.
	Flags, URL, Project string

	// Severity has the severities that are not the default ones, and Off the rules that
	// are switched off.
	Severity map[Rule]flags.Severity
	Off      map[Rule]bool

	// Tests says that files of tests are checked, too. Unused says that flags are
	// reported that no code reads.
	Tests, Unused bool

	Ignore []Ignore
}

// An Ignore is an entry of the ignore list. What it leaves empty may be anything.
type Ignore struct {
	Rule   Rule
	Key    string    // of a flag; * is any text
	Path   string    // a file or a folder, relative to the folder of the configuration; * is any text
	Reason string    // required
	Until  time.Time // the last day on which it counts; zero: it always does
	line   int
}

// A fileOfConfig is a Config as the file has it.
type fileOfConfig struct {
	Flags   string            `yaml:"flags"`
	URL     string            `yaml:"url"`
	Project string            `yaml:"project"`
	Tests   bool              `yaml:"tests"`
	Unused  bool              `yaml:"unused"`
	Rules   map[string]string `yaml:"rules"`
	Ignore  []ignoreEntry     `yaml:"ignore"`
}

type ignoreEntry struct {
	Rule   string `yaml:"rule"`
	Key    string `yaml:"key"`
	Path   string `yaml:"path"`
	Reason string `yaml:"reason"`
	Until  string `yaml:"until"`
	line   int
}

// Members of the file and of an entry of its ignore list.
var (
	configMembers = []string{"flags", "url", "project", "tests", "unused", "rules", "ignore"}
	ignoreMembers = []string{"rule", "key", "path", "reason", "until"}
)

// UnmarshalYAML notes the line.
func (e *ignoreEntry) UnmarshalYAML(node *yaml.Node) error {
	if err := knownMembers(node, ignoreMembers); err != nil {
		return err
	}
	type plain ignoreEntry
	if err := node.Decode((*plain)(e)); err != nil {
		return err
	}
	e.line = node.Line
	return nil
}

// knownMembers refuses members that do not exist.
func knownMembers(node *yaml.Node, names []string) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: want the members %s", node.Line, strings.Join(names, ", "))
	}
	for i := 0; i < len(node.Content); i += 2 {
		name := node.Content[i].Value
		if slices.Contains(names, name) {
			continue
		}
		if near := nearest.Names(names, name); len(near) > 0 {
			return fmt.Errorf("line %d: there is no member %q; did you mean %q?", node.Content[i].Line, name, near[0])
		}
		return fmt.Errorf("line %d: there is no member %q; want one of %s", node.Content[i].Line, name, strings.Join(names, ", "))
	}
	return nil
}

// FindConfig reads the file of a configuration, or if the name is "" the [ConfigFile] of a
// folder or of the nearest one above it that has one. Without such a file the result is
// zero. The key of a server is not a part of it.
func FindConfig(folder, name string) (*Config, error) {
	path := name
	if path == "" {
		if path = lookUp(folder); path == "" {
			return new(Config), nil
		}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxConfig+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	c, err := ReadConfig(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c.Path = path
	if c.Flags != "" && !filepath.IsAbs(c.Flags) {
		c.Flags = filepath.Join(filepath.Dir(path), c.Flags)
	}
	return c, nil
}

// lookUp returns the path of the ConfigFile of a folder or of one above it, "" if there is
// none.
func lookUp(folder string) string {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return ""
	}
	for {
		path := filepath.Join(folder, ConfigFile)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
		above := filepath.Dir(folder)
		if above == folder {
			return ""
		}
		folder = above
	}
}

// ReadConfig reads a configuration, in YAML:
//
//	flags: flags.json        # the definitions, or
//	url: https://flags.example.com
//	project: "2"
//	unused: true             # report flags that no code reads
//	tests: true              # check files of tests, too
//	rules:
//	  constant: off          # or error, or warning
//	ignore:
//	  - rule: constant
//	    key: checkout-*
//	    path: internal/shop
//	    reason: the release of May removes it
//	    until: 2027-05-31
//
// An entry of the ignore list needs a reason, and at least one of rule, key and path. It
// counts until the end of its date, and is reported from then on. Members that do not
// exist are refused. The error names the line, the value and what is allowed.
func ReadConfig(text []byte) (*Config, error) {
	if len(text) > maxConfig {
		return nil, fmt.Errorf("the configuration has more than %d bytes", maxConfig)
	}
	var node yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	switch err := decoder.Decode(&node); {
	case errors.Is(err, io.EOF):
		return new(Config), nil
	case err != nil:
		return nil, plainError(err)
	}
	root := node.Content[0]
	if err := knownMembers(root, configMembers); err != nil {
		return nil, err
	}
	var file fileOfConfig
	if err := root.Decode(&file); err != nil {
		return nil, plainError(err)
	}
	return file.config()
}

// plainError returns an error of the YAML library without its name.
func plainError(err error) error {
	if e, ok := errors.AsType[*yaml.TypeError](err); ok {
		return errors.New(strings.Join(e.Errors, "; "))
	}
	return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
}

// config checks the values.
func (f *fileOfConfig) config() (*Config, error) {
	c := &Config{Flags: f.Flags, URL: f.URL, Project: f.Project, Tests: f.Tests, Unused: f.Unused, Severity: make(map[Rule]flags.Severity), Off: make(map[Rule]bool)}
	if c.Flags != "" && c.URL != "" {
		return nil, errors.New("want flags or url, not both")
	}
	for _, name := range sortedKeys(f.Rules) {
		if !isRule(name) {
			return nil, fmt.Errorf("rules: %w", noRule(name))
		}
		switch level := f.Rules[name]; level {
		case "error":
			c.Severity[Rule(name)] = flags.SeverityError
		case "warning":
			c.Severity[Rule(name)] = flags.SeverityWarning
		case "off", "false": // YAML may take the first one for the second one
			c.Off[Rule(name)] = true
		default:
			return nil, fmt.Errorf("rules: %s: invalid value %q: want error, warning or off", name, level)
		}
	}
	if len(f.Ignore) > maxIgnore {
		return nil, fmt.Errorf("ignore: %d entries: want at most %d", len(f.Ignore), maxIgnore)
	}
	for i := range f.Ignore {
		e := &f.Ignore[i]
		ignore, err := e.ignore()
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", e.line, err)
		}
		c.Ignore = append(c.Ignore, ignore)
	}
	return c, nil
}

func noRule(name string) error {
	if near := nearest.Names(strings.Split(ruleNames(), ", "), name); len(near) > 0 {
		return fmt.Errorf("there is no rule %q; did you mean %q?", name, near[0])
	}
	return fmt.Errorf("there is no rule %q; want one of %s", name, ruleNames())
}

// ignore checks an entry.
func (e *ignoreEntry) ignore() (Ignore, error) {
	i := Ignore{Rule: Rule(e.Rule), Key: e.Key, Path: strings.TrimSuffix(filepath.ToSlash(e.Path), "/"), Reason: strings.TrimSpace(e.Reason), line: e.line}
	switch {
	case e.Rule == "" && e.Key == "" && e.Path == "":
		return i, errors.New("an entry that ignores everything: want at least one of rule, key and path")
	case e.Rule != "" && !isRule(e.Rule):
		return i, noRule(e.Rule)
	case i.Reason == "":
		return i, errors.New("an entry without a reason: want reason: why this is ignored")
	}
	if e.Until != "" {
		day, err := time.Parse(time.DateOnly, e.Until)
		if err != nil {
			return i, fmt.Errorf("until: invalid value %s: want a date such as 2027-05-31", strconv.Quote(e.Until))
		}
		i.Until = day
	}
	return i, nil
}

// expired reports whether an entry counts no more: its day has ended everywhere.
func (i *Ignore) expired(now time.Time) bool {
	const lastZone = 12 * time.Hour // behind UTC
	return !i.Until.IsZero() && !now.Before(i.Until.AddDate(0, 0, 1).Add(lastZone))
}

// covers reports whether an entry is about a finding. The path has slashes.
func (i *Ignore) covers(rule Rule, key, path string) bool {
	return (i.Rule == "" || i.Rule == rule) && (i.Key == "" || text.Matches(i.Key, key)) &&
		(i.Path == "" || text.Matches(i.Path, path) || text.Matches(i.Path+"/*", path))
}

// severity returns the severity of a rule. It is not ok for one that is switched off.
func (c *Config) severity(rule Rule) (severity flags.Severity, ok bool) {
	if c.Off[rule] {
		return 0, false
	}
	if s, ok := c.Severity[rule]; ok {
		return s, true
	}
	for _, d := range defaults {
		if d.rule == rule {
			return d.severity, true
		}
	}
	return flags.SeverityError, true
}

// ignores reports whether an entry of the ignore list is about a finding in a file.
func (c *Config) ignores(rule Rule, key, file string, now time.Time) bool {
	if len(c.Ignore) == 0 {
		return false
	}
	path := filepath.ToSlash(file)
	if file != "" {
		folder, err := filepath.Abs(filepath.Dir(c.Path))
		if absolute, err2 := filepath.Abs(file); err == nil && err2 == nil {
			if relative, err := filepath.Rel(folder, absolute); err == nil {
				path = filepath.ToSlash(relative)
			}
		}
	}
	for i := range c.Ignore {
		if e := &c.Ignore[i]; !e.expired(now) && e.covers(rule, key, path) {
			return true
		}
	}
	return false
}
