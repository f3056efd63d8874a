package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const launchDarklyFile = "../../internal/convert/launchdarkly/testdata/flags.json"

// twoFlags is a file of LaunchDarkly with a flag that can be kept, and one that cannot.
const twoFlags = `{"flags": {
	"new": {"key": "new", "on": true, "variations": [true, false], "salt": "s", "fallthrough": {"rollout": {"variations": [{"variation": 0, "weight": 20000}, {"variation": 1, "weight": 80000}]}}},
	"list": {"key": "list", "on": true, "variations": [[1], [2]], "fallthrough": {"variation": 0}}}}`

const listLeft = `left out flag list: Value 1 is a list, null, an empty text or a number beyond 2^53, which no flag may have here. Those who would get it get the fallback of the program.`

var undoLine = regexp.MustCompile(`to take it back: flagstaff import -undo (\S+)\n`)

// TestImportForeign imports the flags of another product into a server, again, and changed.
func TestImportForeign(t *testing.T) {
	t.Parallel()
	for kind, open := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			store := open(t)
			server := serveProcess(t, "-store", store, "-drain", "0s")
			s := server.session(t)
			file := write(t, "flags.json", twoFlags)
			const proof = "; each new or changed flag has the value that the file gives for 1000 random persons\n"
			args := []string{"import", "-from", "launchdarkly"}
			call{args: append(args, "-dry-run", file), env: s.env}.run(t).want(t, outcome{
				1, listLeft + "\nwould create flag new\nwith this file: 1 flag created; 0 as in the file" + proof, "",
			})
			made := call{args: append(args, file), env: s.env}.run(t)
			id := undoLine.FindStringSubmatch(made.Stdout)
			if id == nil {
				t.Fatalf("the import does not say how it is taken back: %s", made.Stdout)
			}
			made.want(t, outcome{1, listLeft + "\ncreated flag new\n1 flag created; 0 as in the file" + proof + id[0], ""})
			s.prints("the import "+id[1]+" is taken back\n", "import", "-undo", id[1])
			call{args: append(args, file), env: s.env}.run(t)
			call{args: append(args, file), env: s.env}.run(t).want(t, outcome{1, listLeft + "\nnothing changed; 1 as in the file\n", ""})
			file = write(t, "flags.json", onlyNew(strings.Replace(twoFlags, "20000", "30000", 1)))
			changed := call{args: append(args, "-store", store, file), env: s.env}.run(t).Stdout
			id = undoLine.FindStringSubmatch(changed)
			if id == nil {
				t.Fatalf("the import does not say how it is taken back: %s", changed)
			}
			outcome{0, changed, ""}.want(t, outcome{0, "changed flag new (version 2)\n" +
				"    rule 1, split: 20% on, 80% off → 30% on, 70% off\n" +
				"1 flag changed; 0 as in the file" + proof + id[0], ""})
			s.prints("the import "+id[1]+" is taken back\n", "import", "-store", store, "-undo", id[1])
		})
	}
}

// onlyNew returns the text of a file without the flag that cannot be kept.
func onlyNew(text string) string {
	before, _, _ := strings.Cut(text, ",\n\t\"list\"")
	return before + "}}"
}

// TestConvertForeign writes definitions, which other commands read, from each kind of source.
func TestConvertForeign(t *testing.T) {
	t.Parallel()
	file := write(t, "flags.json", twoFlags)
	folder := filepath.Dir(file)
	out := filepath.Join(t.TempDir(), "definitions.json")
	document, err := os.ReadFile(launchDarklyFile)
	if err != nil {
		t.Fatal(err)
	}
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "sdk-key" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write(document)
	}))
	t.Cleanup(source.Close)
	archive := write(t, "relay.tar.gz", string(relayArchive(t, map[string]string{
		"one.json": `{"env": {"envName": "production"}}`, "one-data.json": string(document), "two.json": `{}`, "two-data.json": twoFlags,
	})))
	for _, test := range []struct {
		args []string
		key  string
		want outcome
		left int // flags that are written
	}{
		{[]string{file}, "", outcome{1, listLeft + "\nwrote the flags to " + out + "\n", ""}, 1},
		{[]string{folder}, "", outcome{1, listLeft + "\nwrote the flags to " + out + "\n", ""}, 1},
		{[]string{"-inexact", "list", file}, "", outcome{0, strings.Replace(listLeft, "left out", "not exact:", 1) + "\nwrote the flags to " + out + "\n", ""}, 2},
		{[]string{source.URL}, "sdk-key", outcome{}, 50},
		{[]string{"-environment", "production", archive}, "", outcome{}, 50},
		{[]string{source.URL}, "", outcome{1, "", "flagstaff import: fetch the flags: " + strings.TrimPrefix(source.URL, "http://") + " answered 401 Unauthorized; the key is taken from FLAGSTAFF_FROM_KEY\n"}, 0},
		{[]string{archive}, "", outcome{1, "", "flagstaff import: the archive has the environments one, two: name one with -environment\n"}, 0},
		{[]string{"-inexact", "none", file}, "", outcome{1, "", "flagstaff import: inexact The file has no flag none.\n"}, 0},
	} {
		got := call{args: append([]string{"import", "-from", "launchdarkly", "-o", out}, test.args...), env: []string{"FLAGSTAFF_FROM_KEY=" + test.key}}.run(t)
		if test.want.Stdout == "" && test.want.Code == 0 {
			got.Stdout = "" // notes
		}
		got.want(t, test.want)
		if test.left > 0 {
			run(t, "check", out)
			text, err := os.ReadFile(out)
			if err != nil || strings.Count(string(text), `"active": `) != test.left {
				t.Errorf("%v: %d flags, want %d", test.args, strings.Count(string(text), `"active": `), test.left)
			}
		}
	}
}

// TestDecrypted imports what GrowthBook has encrypted. The server gets it decrypted, without the key.
func TestDecrypted(t *testing.T) {
	t.Parallel()
	const key = "MDEyMzQ1Njc4OWFiY2RlZg=="
	file := write(t, "features.json", `{"features": {}, "encryptedFeatures": "ZmVkY2JhOTg3NjU0MzIxMA==.Q8wMkG7h0rcjm/oSKYgD1lDYPzqcaO0VhQASpFkrxk0="}`)
	out := filepath.Join(t.TempDir(), "definitions.json")
	for _, test := range []struct {
		key  string
		want outcome
	}{
		{key, outcome{0, "wrote the flags to " + out + "\n", ""}},
		{"", outcome{1, "", "flagstaff import: GrowthBook: encryptedFeatures is encrypted: fetch it by an SDK connection without encryption, " +
			"or give flagstaff import the decryption key in FLAGSTAFF_DECRYPTION_KEY.\n"}},
		{"AAA" + key[3:], outcome{1, "", "flagstaff import: GrowthBook: encryptedFeatures: the key does not decrypt it. The key is taken from FLAGSTAFF_DECRYPTION_KEY\n"}},
		{"MDEy", outcome{1, "", "flagstaff import: GrowthBook: encryptedFeatures: the key is not one of 16, 24 or 32 bytes, as decryption keys of SDK connections are. " +
			"The key is taken from FLAGSTAFF_DECRYPTION_KEY\n"}},
	} {
		call{args: []string{"import", "-from", "growthbook", "-o", out, file}, env: []string{"FLAGSTAFF_DECRYPTION_KEY=" + test.key}}.here(t).want(t, test.want)
	}

	var sent []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all, _ := httputil.DumpRequest(r, true)
		sent = append(sent, all...)
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	call{args: []string{"import", "-from", "growthbook", file}, env: []string{"FLAGSTAFF_URL=" + server.URL, "FLAGSTAFF_KEY=phx_1", "FLAGSTAFF_PROJECT=1", "FLAGSTAFF_DECRYPTION_KEY=" + key}}.here(t)
	if text := string(sent); !strings.Contains(text, `"defaultValue"`) || strings.Contains(text, key) || strings.Contains(text, "encryptedFeatures") {
		t.Errorf("the server gets %s", text)
	}
	// Another product encrypts nothing.
	file = write(t, "flags.json", onlyNew(twoFlags))
	call{args: []string{"import", "-from", "launchdarkly", "-o", out, file}, env: []string{"FLAGSTAFF_DECRYPTION_KEY=" + key}}.here(t).want(t, outcome{0, "wrote the flags to " + out + "\n", ""})
}

// TestImportForeignElsewhere imports into a server that answers, but not with a report.
func TestImportForeignElsewhere(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{}`)) }))
	t.Cleanup(server.Close)
	got := call{
		args: []string{"import", "-from", "launchdarkly", write(t, "flags.json", twoFlags)},
		env:  []string{"FLAGSTAFF_URL=" + server.URL, "FLAGSTAFF_KEY=phx_1", "FLAGSTAFF_PROJECT=1"},
	}.here(t)
	got.want(t, outcome{1, "", "flagstaff import: the server's answer has no report of the import: is it a Flagstaff server of this version?\n"})
}

func relayArchive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
