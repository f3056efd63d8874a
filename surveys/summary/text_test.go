package summary_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/surveys/summary"
)

// themes returns the themes of a page, each with its number of answers.
func themes(tb testing.TB, content string) []string {
	tb.Helper()
	var found []string
	for item := range strings.Lines(section(tb, content, "Themes")) {
		if item, ok := strings.CutPrefix(item, "- **"); ok {
			text, rest, _ := strings.Cut(item, "**: ")
			n, _, _ := strings.Cut(rest, " ")
			found = append(found, text+" "+n)
		}
	}
	return found
}

// TestThemes follows management.md §11.5, item 3.
func TestThemes(t *testing.T) {
	filler := func(n int) [][]string { // n different answers
		var answers [][]string
		for i := range n {
			answers = append(answers, []string{fmt.Sprintf("filler%c%c", 'a'+i/26, 'a'+i%26)})
		}
		return answers
	}
	for _, tt := range []struct {
		name    string
		answers [][]string
		want    []string
	}{
		{"one answer is not a theme", eachAlone("search"), nil},
		{"two are", eachAlone("search", "Search!"), []string{"search 2"}},
		{"once per answer", eachAlone("search search search", "export"), nil},
		{"5 % of 40", slices.Concat(times(2, "search"), filler(38)), []string{"search 2"}},
		{"less than 5 % of 41", slices.Concat(times(2, "search"), filler(39)), nil},
		{"5 % of 60", slices.Concat(times(3, "search"), times(2, "export"), filler(55)), []string{"search 3"}},
		{
			"up to five, the most frequent first", slices.Concat(times(2, "aaaa"), times(7, "bbbb"), times(3, "cccc"), times(4, "dddd"), times(5, "eeee"), times(6, "ffff")),
			[]string{"bbbb 7", "ffff 6", "eeee 5", "dddd 4", "cccc 3"},
		},
		{"then by text", slices.Concat(times(2, "zzzz"), times(2, "yyyy"), times(2, "xxxx")), []string{"xxxx 2", "yyyy 2", "zzzz 2"}},
		{"a word of a phrase", slices.Concat(times(4, "dark mode"), times(1, "mode")), []string{"dark mode 4"}},
		{"a word without its phrase", slices.Concat(times(3, "dark mode"), times(2, "mode")), []string{"mode 5", "dark mode 3"}},
		{"one phrase of three words", times(3, "dark mode switch"), []string{"dark mode 3"}},
		{"no phrase across stop words", eachAlone("Dark and mode", "a dark mode"), []string{"dark 2", "mode 2"}},
		{"two scripts", eachAlone("Dark mode 文档", "文档, dark mode"), []string{"dark mode 2", "文档 2"}},
		{"stop words without a phrase", times(3, "it is what it is"), nil},
		{"no phrase across clauses", eachAlone("search. Export", "search, export", "search\nexport", "search (export)"), []string{"export 4", "search 4"}},
		{"words that say nothing about a subject", eachAlone("more integrations", "More integrations!", "more"), []string{"integrations 2"}},
		{"negations", times(2, "search isn't fast"), []string{"fast 2", "search 2"}},
		{"lower case and compatibility", eachAlone("ＳＥＡＲＣＨ", "search", "ſearch"), []string{"search 3"}},
		{"apostrophes", eachAlone("the user’s profile", "user's profile", "USERS' profile"), []string{"users profile 3"}},
		{"apostrophes that are letters", eachAlone("комп'ютер", "Комп’ютер"), []string{"компютер 2"}},
		{"hyphens", eachAlone("third-party", "third party", "third_party"), []string{"third party 3"}},
		{"soft hyphens and variation selectors", eachAlone("sea\u00adrch", "search\ufe0f"), []string{"search 2"}},
		{"composed and decomposed", eachAlone("menü", "menu\u0308"), []string{"menü 2"}},
		{"numbers are not words", times(3, "2024 100 1.5 x"), nil},
		{"numbers in words", times(3, "2fa"), []string{"2fa 3"}},
		{"addresses", times(2, "https://www.example.com/"), []string{"example 2"}},
		{"words without end", times(2, strings.Repeat("a", 41)+" search"), []string{"search 2"}},
		{"long words", times(2, strings.Repeat("a", 40)), []string{strings.Repeat("a", 40) + " 2"}},
		{"nothing but emoji", eachAlone("👍👍", "👍"), nil},
		{"emoji between", eachAlone("search👍", "👍search"), []string{"search 2"}},
		{"what is not UTF-8", eachAlone("search\xff", "\xc3search"), []string{"search 2"}},
		{"after 1000 characters", times(2, strings.Repeat(" ", 990)+"search exports"), []string{"search exp 2"}},
		{"Chinese", eachAlone("希望有文档", "文档！", "文档太少", "好的 API 文档"), []string{"文档 4"}},
		{"one ideograph", eachAlone("慢", "慢。", "很慢"), nil},
		{"Japanese", eachAlone("検索が遅い", "検索はダメ", "ダークモード希望", "ダークモードが欲しい"), []string{"検索 2", "ダークモード 2"}},
		{"Korean", eachAlone("앱이 느려요", "앱이 좋아요"), []string{"앱이 2"}},
		{"Arabic", eachAlone("التطبيق بطيء", "البحث بطيء", "التطبيق رائع"), []string{"التطبيق 2", "بطيء 2"}},
		{"Thai", eachAlone("ค้นหา ช้า", "ค้นหา"), []string{"ค้นหา 2"}},
		{"articles of other languages", eachAlone("le prix", "le menu", "le bouton", "le texte"), nil},
		{"articles with a noun", eachAlone("le prix", "le menu", "le prix élevé"), []string{"prix 2"}},
		{"short words", eachAlone("the icon set of the map", "the icon on a map is too small", "the icon size on maps"), []string{"icon 3", "map 2"}},
		{"articles in capitals", eachAlone("DIE API STÖRT", "der API fehlt", "das API lahmt"), []string{"api 3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := summarize(t, open, tt.answers)
			if diff := cmp.Diff(tt.want, themes(t, got)); diff != "" {
				t.Errorf("themes (-want +got):\n%s\n%s", diff, got)
			}
		})
	}
}

// The counts of themes in random answers are compared with a simple count.
func TestThemesAreCounted(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var answers [][]string
		for range random.IntN(60) + 1 {
			answers = append(answers, []string{phrase(random, 15)})
		}
		has := func(term string) (n int) {
			for _, a := range answers {
				clauses := strings.Split(a[0], ".")
				if slices.ContainsFunc(clauses, func(c string) bool { return strings.Contains(" "+c+" ", " "+term+" ") }) {
					n++
				}
			}
			return n
		}
		most := 0
		for i := range 30 {
			most = max(most, has(fmt.Sprintf("subject%d", i)))
		}
		got := themes(t, summarize(t, open, answers))
		if (most >= 2 && 20*most >= len(answers)) != (len(got) > 0) || len(got) > 5 {
			t.Fatalf("%d themes; the most frequent word is in %d of %d answers", len(got), most, len(answers))
		}
		last := len(answers)
		for i, item := range got {
			place := strings.LastIndexByte(item, ' ')
			n := has(item[:place])
			if item[place+1:] != fmt.Sprint(n) || n > last || n < 2 || 20*n < len(answers) || i == 0 && 5*n < 4*most {
				t.Fatalf("%s\n%q\ntheme %d is %q; its text is in %d of %d answers, and the most frequent word in %d", summarize(t, open, answers), answers, i, item, n, len(answers), most)
			}
			last = n
		}
	}
}

func TestLinks(t *testing.T) {
	want := "## Overview\n\n2 answers.\n\n## Themes\n\nNone: there are no answers in words.\n\n## Quotes\n\nNone.\n"
	if got := summarize(t, link, times(2, "link clicked")); got != want {
		t.Errorf("Summarize(link) = %q, want %q", got, want)
	}
}

// TestQuote checks how a single answer is quoted (management.md §11.5, item 3).
func TestQuote(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"verbatim", "It Works!?", "It Works!?"},
		{"HTML", `<script>alert("x")</script> & 'y'`, "&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt; &amp; &#39;y&#39;"},
		{"an entity", "&lt;", "&amp;lt;"},
		{"emphasis", "*a* _b_ ~c~ `d`", "\\*a\\* \\_b\\_ \\~c\\~ \\`d\\`"},
		{"a link", "[a](b)", "\\[a\\](b)"},
		{"a picture", "![a](b)", "!\\[a\\](b)"},
		{"escapes", `\*`, `\\\*`},
		{"a heading", "# a", "\\# a"},
		{"lines", "a\r\nb\u2028c\u0085d\te  f\v\n\n---\n", "a b c d e f ---"},
		{"control characters", "a\x00b\x1b[31mc", "a b \\[31mc"},
		{"direction", "a\u202eb\u2066c\u200fd", "abcd"},
		{"what cannot be seen", "a\u200bb\ufeffc\U000e0041d", "abcd"},
		{"right to left", "بطيء جدا", "بطيء جدا"},
		{"Persian", "می\u200cخواهم", "می\u200cخواهم"},
		{"not UTF-8", "a\xffb", "a\ufffdb"},
		{"web addresses", "http://www.example.com/a.b 1.5 10:30 e.g. x", "http:\u2060//www.\u2060example.\u2060com/a.\u2060b 1.5 10:30 e.\u2060g. x"},
		{"mail addresses", "mailto:a@1 @you", "mailto:\u2060a@\u20601 @\u2060you"},
		{"200 characters", strings.Repeat("ä", 200), strings.Repeat("ä", 200)},
		{"201 characters", strings.Repeat("ä", 201), strings.Repeat("ä", 199) + "…"},
		{"no space at the end", strings.Repeat("ä", 198) + " bcd", strings.Repeat("ä", 198) + "…"},
		{"between words", strings.Repeat("ä", 150) + " " + strings.Repeat("b", 60), strings.Repeat("ä", 150) + "…"},
		{"a long word at the end", "b " + strings.Repeat("ä", 200), "b " + strings.Repeat("ä", 197) + "…"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := section(t, summarize(t, open, eachAlone(tt.text)), "Quotes")
			if want := "- “" + tt.want + "”"; got != want {
				t.Errorf("the quote of %q is %q, want %q", tt.text, got, want)
			}
		})
	}
}

// TestQuotes checks which answers are quoted (management.md §11.5, item 3).
func TestQuotes(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers [][]string
		want    string
	}{
		{"of no theme: the first five", eachAlone("one", "two", "three", "four", "five", "six"), "- “one”\n- “two”\n- “three”\n- “four”\n- “five”"},
		{
			"those with most themes, and then with others", eachAlone("slow", "export", "slow", "slow export", "slow search", "search"),
			"- “slow export”\n- “slow search”\n- “export”\n- “search”\n- “slow”",
		},
		{"not those without a theme", eachAlone("blue", "slow", "slow!"), "- “slow”\n- “slow!”"},
		{"not the same text twice", eachAlone("slow", "slow", "so slow"), "- “slow”\n- “so slow”"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, section(t, summarize(t, open, tt.answers), "Quotes")); diff != "" {
				t.Errorf("quotes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLongChoice(t *testing.T) {
	q := summary.Question{Type: summary.SingleChoice, Choices: []string{strings.Repeat("x", 300)}}
	want := "1 answer.\n\n- **" + strings.Repeat("x", 199) + "…**: 0 (0.0%)"
	if got, _, _ := strings.Cut(section(t, summarize(t, q, eachAlone("y")), "Overview"), "\n\nNot"); got != want {
		t.Errorf("overview = %q, want %q", got, want)
	}
}
