package consoletest

import (
	"testing"
)

func TestFormReader(t *testing.T) {
	a := &Answer{T: t, Body: `<form id="f"><input name="a" value="1&amp;2"><input type="checkbox" name="b" value="y">` +
		`<input type="radio" name="e" value="1"><input type="radio" name="e" value="2" checked>` +
		`<select name="c"><option value="x">X</option><option value="y" selected>Y</option></select><textarea name="d">
t</textarea></form>`}
	if got := a.Form("f").Encode(); got != "a=1%262&c=y&d=t&e=2" {
		t.Errorf("form: %s", got)
	}
}
