package openapitest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write openapi.json anew")

const folder = "../../../server/internal/openapi"

// TestJSON: openapi.json is the document in YAML. With -update it is written.
func TestJSON(t *testing.T) {
	var text []byte
	names, err := filepath.Glob(filepath.Join(folder, "document", "*.yaml"))
	if err != nil || len(names) == 0 {
		t.Fatalf("the folder with the document has %d files, %v", len(names), err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, b...)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := writeJSON(&want, document.Content[0], 0); err != nil {
		t.Fatal(err)
	}
	want.WriteByte('\n')
	path := filepath.Join(folder, "openapi.json")
	if *update {
		if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("openapi.json is not the document; go test . -run JSON -update writes it (-want +got):\n%s", diff)
	}
}

// writeJSON writes a node as JSON with its members in their order. Each path and each
// component has a line, so that a difference shows what has changed.
func writeJSON(b *bytes.Buffer, n *yaml.Node, level int) error {
	const lines = 3 // levels that have lines of their own
	separator := func(i int) {
		if i > 0 {
			b.WriteByte(',')
		}
		if level < lines {
			b.WriteByte('\n')
		}
	}
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		for i := 0; i < len(n.Content); i += 2 {
			separator(i)
			if err := writeText(b, n.Content[i].Value); err != nil {
				return err
			}
			b.WriteByte(':')
			if err := writeJSON(b, n.Content[i+1], level+1); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, element := range n.Content {
			separator(i)
			if err := writeJSON(b, element, lines); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case yaml.ScalarNode:
		switch n.ShortTag() {
		case "!!null", "!!bool", "!!int", "!!float":
			if !json.Valid([]byte(n.Value)) {
				return fmt.Errorf("line %d: %s is not JSON", n.Line, n.Value)
			}
			b.WriteString(n.Value)
		default: // a time is a text, too
			return writeText(b, n.Value)
		}
	default:
		return fmt.Errorf("line %d: the document has aliases, which many programs do not know", n.Line)
	}
	return nil
}

func writeText(b *bytes.Buffer, s string) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the line break
	return nil
}
