package summary_test

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/surveys/summary"
)

var types = []string{summary.Open, summary.Link, summary.Rating, summary.SingleChoice, summary.MultipleChoice}

// question makes a valid question.
func question(kind, scale uint8, choices string, flag bool) summary.Question {
	return summary.Question{
		Type: types[int(kind)%len(types)], Choices: strings.Split(choices, "|"), OpenChoice: flag, Scale: 2 + int(scale)%9, NPS: flag,
	}
}

// responses splits a text into answers at \x1e, and each answer into values at
// |.
func responses(text string) [][]string {
	var answers [][]string
	for line := range strings.SplitSeq(text, "\x1e") {
		answers = append(answers, strings.Split(line, "|"))
	}
	return answers
}

func seed(f *testing.F) {
	for i, text := range []string{
		"", "1\x1e2\x1e8.0\x1ex", "A|B\x1eA\x1esomething", "1|A|2|\x1e|A", "better docs\x1eBetter docs!\x1e<b>*docs*</b> at http://example.com",
		"检索很慢，文档太少\x1e检索很慢\x1e检索", "検索が遅い\x1e検索", "بطيء جدا\x1eبطيء\u202e", "👍🏽👨\u200d👩\u200d👧🇩🇪\x1e👍🏽", "\xff\xfe\x1e\xc3|\x80", "l'app\x1el’app\x1eisn't\x1e'''",
		strings.Repeat("e\u0301", 600) + "\x1e" + strings.Repeat("\ufdfa", 300), strings.Repeat("a ", 700) + "\x1e" + strings.Repeat("a ", 700), "\u1112\u1161\u11ab\x1eｶﾞ\x1eﬁ",
	} {
		f.Add(uint8(i), uint8(8), "A|B|Other", i%2 == 0, text)
		f.Add(uint8(0), uint8(3), "*A*|# B\n|", i%2 == 1, text)
	}
}

// decoration matches whatever Markdown or HTML could take for markup within a
// line once the sequences that harmless matches, which escape writes, are gone.
var (
	harmless   = regexp.MustCompile("\\\\[\\\\`*_\\[\\]~|$^=+#{}]|&(lt|gt|amp|#34|#39);")
	decoration = regexp.MustCompile("[\\\\`*_\\[\\]~|$^=+#{}<>&\\p{Cc}\u202a-\u202e\u2066-\u2069]|[@]([^\u2060]|$)|[.:][/\\pL]")
)

// checkText checks that s is one line of plain text, and returns the text that
// s was made from.
func checkText(t *testing.T, s string) string {
	t.Helper()
	if found := decoration.FindString(harmless.ReplaceAllString(s, " ")); found != "" {
		t.Fatalf("%q has %q", s, found)
	}
	plain := regexp.MustCompile(`\\(.)`).ReplaceAllString(strings.ReplaceAll(s, "\u2060", ""), "$1")
	return html.UnescapeString(plain)
}

// asLine returns the form in which a short text is quoted.
func asLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r):
			return ' '
		case unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d':
			return -1
		}
		return r
	}, strings.Map(func(r rune) rune { return r }, s)) // the inner Map replaces bytes that are not UTF-8
	return strings.Join(strings.Fields(s), " ")
}

func FuzzSummarize(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, kind, scale uint8, choices string, flag bool, text string) {
		q, answers := question(kind, scale, choices, flag), responses(text)
		got := summarize(t, q, answers)
		if got == summary.NoAnswers {
			return
		}
		if again := summarize(t, q, answers); again != got {
			t.Fatalf("Summarize = %q, then %q", got, again)
		}
		if !utf8.ValidString(got) {
			t.Fatalf("Summarize = %q, which is not UTF-8", got)
		}
		var headings []string
		for line := range strings.Lines(got) {
			line = strings.TrimSuffix(line, "\n")
			if heading, ok := strings.CutPrefix(line, "## "); ok {
				headings = append(headings, heading)
				continue
			}
			if quote, ok := strings.CutPrefix(line, "- “"); ok {
				quote = checkText(t, strings.TrimSuffix(quote, "”"))
				cut, isCut := strings.CutSuffix(quote, "…")
				if n := utf8.RuneCountInString(quote); n > 200 || n == 0 {
					t.Fatalf("the quote %q has %d characters", quote, n)
				}
				if !slices.ContainsFunc(answers, func(values []string) bool {
					words := inOwnWords(q, values)
					return words == quote || isCut && strings.HasPrefix(words, cut)
				}) {
					t.Fatalf("the quote %q is in none of %q", quote, answers)
				}
				continue
			}
			// Bold text is a theme or a choice. The rest is Extractive's own.
			if rest, ok := strings.CutPrefix(strings.TrimPrefix(line, "- "), "**"); ok {
				end := strings.LastIndex(rest, "**")
				checkText(t, rest[:end])
				line = rest[end+2:]
			}
			checkText(t, strings.TrimPrefix(line, "- "))
		}
		if want := []string{"Overview", "Themes", "Quotes"}; !slices.Equal(headings, want) {
			t.Fatalf("headings are %q, want %q", headings, want)
		}
	})
}

// inOwnWords returns the part of an answer that may be quoted.
func inOwnWords(q summary.Question, values []string) string {
	values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return strings.Trim(asLine(v), " \u200c\u200d") == "" })
	if q.Type != summary.MultipleChoice {
		values = values[:min(len(values), 1)]
	}
	if q.Type != summary.Open {
		values = slices.DeleteFunc(values, func(v string) bool {
			return slices.ContainsFunc(q.Choices, func(c string) bool { return strings.TrimSpace(c) == strings.TrimSpace(v) })
		})
	}
	for i := range values {
		values[i] = strings.TrimSpace(values[i])
	}
	return asLine(strings.Join(values, ", "))
}

func FuzzHeadline(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, kind, scale uint8, choices string, flag bool, text string) {
		in := asked([]summary.Question{question(kind, scale, choices, flag), open}, responses(text), responses(text))
		got := headline(t, in)
		if n := len(strings.Fields(got)); n == 0 || n > 20 {
			t.Errorf("Headline = %q with %d words", got, n)
		}
		if !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) {
			t.Errorf("Headline = %q, which is not a line of text", got)
		}
		if again := headline(t, in); again != got {
			t.Errorf("Headline = %q, then %q", got, again)
		}
	})
}
