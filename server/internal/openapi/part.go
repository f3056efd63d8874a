package openapi

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

var reference = regexp.MustCompile(`"#/components/(\w+/\w+)"`)

// Part returns the document without the paths that a server leaves out, and without the
// components that only these refer to, as JSON and as YAML. If the server has all paths, it is
// the whole document.
func Part(omitted func(path string) bool) (asJSON, asYAML string, err error) {
	var whole ordered[json.RawMessage]
	var parts struct{ Paths, Components ordered[json.RawMessage] }
	if err := json.Unmarshal([]byte(document), &whole); err != nil {
		return "", "", fmt.Errorf("openapi: read the document: %w", err)
	}
	if err := json.Unmarshal([]byte(document), &parts); err != nil {
		return "", "", fmt.Errorf("openapi: read the document: %w", err)
	}
	paths := parts.Paths.without(omitted)
	if len(paths) == len(parts.Paths) {
		return document, YAML(), nil
	}
	components := make(map[string]json.RawMessage) // by kind and name
	kinds := make([]ordered[json.RawMessage], len(parts.Components))
	for i, kind := range parts.Components {
		if err := json.Unmarshal(kind.Value, &kinds[i]); err != nil {
			return "", "", fmt.Errorf("openapi: read the components: %w", err)
		}
		for _, c := range kinds[i] {
			components[kind.Name+"/"+c.Name] = c.Value
		}
	}
	used := make(map[string]bool)
	var use func(text string)
	use = func(text string) {
		for _, m := range reference.FindAllStringSubmatch(text, -1) {
			if !used[m[1]] {
				used[m[1]] = true
				use(string(components[m[1]]))
			}
		}
	}
	for _, p := range paths {
		use(string(p.Value))
	}
	unused := func(kind, name string) bool { return !used[kind+"/"+name] && kind != "securitySchemes" } // which have names, and no references
	for i, kind := range parts.Components {
		parts.Components[i].Value = kinds[i].without(func(name string) bool { return unused(kind.Name, name) }).json()
	}
	for i, m := range whole {
		switch m.Name {
		case "paths":
			whole[i].Value = paths.json()
		case "components":
			whole[i].Value = parts.Components.json()
		}
	}
	return string(whole.json()), partOfYAML(omitted, unused), nil
}

// partOfYAML cuts the lines of paths and components out. The files of the document have paths
// two spaces from the margin, and components four.
func partOfYAML(omitted func(path string) bool, unused func(kind, name string) bool) string {
	var b strings.Builder
	var top, kind string
	skip := false
	for line := range strings.Lines(YAML()) {
		text := strings.TrimLeft(line, " ")
		key, _, _ := strings.Cut(strings.TrimSpace(text), ":")
		switch indent := len(line) - len(text); {
		case key == "": // an empty line belongs to what is above it
		case indent == 0:
			top, skip = key, false
		case top == "paths" && indent == 2:
			skip = omitted(key)
		case top == "components" && indent == 2:
			kind, skip = key, false
		case top == "components" && indent == 4:
			skip = unused(kind, key)
		}
		if !skip {
			b.WriteString(line)
		}
	}
	return b.String()
}

// without returns the members that are not omitted.
func (o ordered[T]) without(omitted func(name string) bool) (kept ordered[T]) {
	for _, e := range o {
		if !omitted(e.Name) {
			kept = append(kept, e)
		}
	}
	return kept
}

// json returns the members as an object.
func (o ordered[T]) json() json.RawMessage {
	members := make([]string, len(o))
	for i, e := range o {
		name, _ := json.Marshal(e.Name)   // which is a text
		value, _ := json.Marshal(e.Value) // which was JSON
		members[i] = string(name) + ":" + string(value)
	}
	return json.RawMessage("{" + strings.Join(members, ",\n") + "}")
}
