package foreign

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v3"
)

// asJSON returns a document as JSON, which JSON is already. Anything else is YAML, or else
// TOML.
func asJSON(document []byte) ([]byte, error) {
	document = bytes.TrimPrefix(document, []byte("\ufeff"))
	if trimmed := bytes.TrimSpace(document); len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid(trimmed) {
		return trimmed, nil
	}
	value, err := readYAML(document)
	_, isText := value.(string)
	if err != nil || isText || value == nil {
		var table map[string]any
		if toml.Unmarshal(document, &table) == nil {
			value, err = table, nil
		}
	}
	if err != nil {
		return nil, err
	}
	value, err = withTexts(value)
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// readYAML reads the documents of a stream: the only one, or a list of several.
func readYAML(stream []byte) (any, error) {
	var list []any
	for d := yaml.NewDecoder(bytes.NewReader(stream)); ; {
		var one any
		if err := d.Decode(&one); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return list, nil
}

// withTexts makes the names of members texts, which YAML may have as numbers or truths.
func withTexts(value any) (out any, err error) {
	switch v := value.(type) {
	case map[string]any:
		for name, one := range v {
			if v[name], err = withTexts(one); err != nil {
				return nil, err
			}
		}
	case map[any]any:
		object := make(map[string]any, len(v))
		for name, one := range v {
			text := fmt.Sprint(name)
			if _, twice := object[text]; twice {
				return nil, fmt.Errorf("an object has the member %q twice", text)
			}
			if object[text], err = withTexts(one); err != nil {
				return nil, err
			}
		}
		return object, nil
	case []map[string]any: // of TOML
		list := make([]any, len(v))
		for n := range v {
			list[n] = v[n]
		}
		return withTexts(list)
	case []any:
		for n := range v {
			if v[n], err = withTexts(v[n]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// Join makes one document of several that another product writes, such as all files of a
// folder: objects become one, lists follow each other. What differs in two of them is an error.
func Join(documents ...[]byte) ([]byte, error) {
	var joined any
	for _, document := range documents {
		raw, err := asJSON(document)
		if err != nil {
			return nil, wrong("", "A file is neither JSON, nor YAML, nor TOML: %s.", err)
		}
		var one any
		if err := json.Unmarshal(raw, &one); err != nil {
			return nil, wrong("", "A file is not JSON: %s.", err)
		}
		if joined, err = merged(joined, one, ""); err != nil {
			return nil, err
		}
	}
	return json.Marshal(joined)
}

func merged(a, b any, at string) (out any, err error) {
	if a == nil {
		return b, nil
	}
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			for name, value := range b {
				if a[name], err = merged(a[name], value, at+"/"+name); err != nil {
					return nil, err
				}
			}
			return a, nil
		}
	case []any:
		if b, ok := b.([]any); ok {
			return append(a, b...), nil
		}
	}
	if !reflect.DeepEqual(a, b) {
		return nil, wrong("", "Two files have different values at %s.", cmp.Or(at, "/"))
	}
	return a, nil
}
