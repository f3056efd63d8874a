package flagd_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/flagd"
)

// TestExportOriginal exports a flag with which flagd fails for some: as it was imported, and after
// somebody has changed it.
func TestExportOriginal(t *testing.T) {
	const targeting = `{"if":[{"==":[{"if":[{"var":"beta"},{"var":"tags"}]},"x"]},"a","b"]}`
	for _, version := range []string{"new", "old"} {
		o := &convert.Options{Version: version}
		p, err := flagd.Convert([]byte(`{"flags":{"f":{"variants":{"a":"x","b":"y"},"defaultVariant":"a","targeting":`+targeting+`}}}`), o)
		if err != nil || len(p.Flags[0].Problems) > 0 {
			t.Fatal(err, p.Flags[0].Problems)
		}
		document, err := p.Document(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, changed := range []bool{false, true} {
			p, err := convert.Read(document)
			if err != nil {
				t.Fatal(err)
			}
			if changed {
				p.Flags[0].Rules.Default = json.RawMessage(`"y"`)
			}
			written, refused, err := flagd.Export(p, o)
			if err != nil {
				t.Fatal(err)
			}
			var compact bytes.Buffer
			if err := json.Compact(&compact, written); err != nil {
				t.Fatal(err)
			}
			switch {
			case !changed && !strings.Contains(compact.String(), `"targeting":`+targeting):
				t.Errorf("%s: the original is not in %s", version, &compact)
			case changed && (len(refused) != 1 || !strings.Contains(refused[0].Reasons[0], "flagd fails for some users")):
				t.Errorf("%s: refused %q of %s", version, refused, &compact)
			}
		}
	}
}
