package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxWords is how many words the documents of users may have together, as wc -w counts them.
const maxWords = 22_000

// userDocuments returns the texts of the documents that users and operators read, by their
// names.
func userDocuments(t *testing.T) map[string]string {
	t.Helper()
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	list := make(map[string]string)
	for _, page := range append(pages, "../README.md", "../OPERATIONS.md") {
		if page != "architecture.md" { // which is for contributors
			list[page] = read(t, page)
		}
	}
	if len(list) < 16 {
		t.Errorf("there are %d documents of users, want 16 at least", len(list))
	}
	return list
}

// TestWords: the documents of users are short enough to be read.
func TestWords(t *testing.T) {
	total := 0
	for _, text := range userDocuments(t) {
		total += len(strings.Fields(text))
	}
	if total > maxWords {
		t.Errorf("the documents of users have %d words, want at most %d", total, maxWords)
	}
}

// goneWords are words that documents have no longer, with what users of other products call
// the thing.
var goneWords = []struct{ gone, instead string }{
	{`(?i)\basides?\b`, "dead letter"},
	{`(?i)\bshares?\b`, "rollout percentage, or variant weight"},
	{`(?i)\bdrawn\b|\bwhat (?:the|a) flag is about\b`, "bucket by, or by variant weights"},
	{`(?i)\bnobody\b`, "no caller, no person, or off"},
	{`(?i)\b(?:is|are) no [A-Za-z]+\b`, "is not a …"},
	{`(?i)\bseldom\b|\bwish(?:es)?\b|\bworlds?\b`, "the noun itself"},
	{`(?i)\b(?:an?|the|its|their|each|every|another|of|with) (?:told|untold|came|kept|marks?)\b`, "the noun itself"},
}

// right are expressions that look like words that are gone.
var right = regexp.MustCompile(`(?i)\bthere (?:is|are) no\b|\b(?:is|are) no (?:more|longer|later)\b`)

// codeIn is what a document quotes: blocks, code in a line, and targets of links.
var codeIn = regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]+`|\\]\\([^)]*\\)")

// goneIn returns the words in the prose of a document that are gone, each with what stands
// instead.
func goneIn(text string) (found []string) {
	prose := right.ReplaceAllString(codeIn.ReplaceAllString(text, "`"), "…")
	for _, word := range goneWords {
		for _, m := range regexp.MustCompile(word.gone).FindAllString(prose, -1) {
			found = append(found, m+" ("+word.instead+")")
		}
	}
	return found
}

func TestGoneIn(t *testing.T) {
	for _, text := range []string{
		"Events are set aside.", "the share of the variant", "Drawn by device", "For nobody yet.", "A list is no key.", "Seldom.", "the mark of a row", "all of the world", "of kept rows",
	} {
		if got := goneIn(text); len(got) != 1 {
			t.Errorf("goneIn(%q) = %q, want one word", text, got)
		}
	}
	for _, text := range []string{
		"`flagstaff_stream_set_aside_total` grows", "[link](a.md#shares)", "```sh\nflagstaff share\n```\n", "There is no key", "events are kept",
	} {
		if got := goneIn(text); len(got) > 0 {
			t.Errorf("goneIn(%q) = %q", text, got)
		}
	}
}

// TestGoneWords: documents of users have none of the words that are gone.
func TestGoneWords(t *testing.T) {
	for name, text := range userDocuments(t) {
		for _, found := range goneIn(text) {
			t.Errorf("%s: %s", name, found)
		}
	}
}
