// Package summary puts the answers to a survey into words: it writes a page
// about one question, and a headline about a whole survey.
//
//	var s summary.Extractive
//	out, err := s.Summarize(ctx, summary.Input{
//		Survey:   "Onboarding",
//		Question: summary.Question{Type: summary.Open, Text: "What should we improve?"},
//		Answers:  [][]string{{"Better docs, please."}, {"The docs are out of date."}},
//	})
//
// [Summarizer] is the interface that the management API calls. [Extractive],
// the built-in implementation, counts and quotes. It calls no service, and
// returns the same bytes for the same answers. Another implementation may hand
// the answers to a service that writes text; the documentation of Summarizer
// says what it has to observe.
//
// # What Extractive says
//
// A page is Markdown with the headings Overview, Themes and Quotes, always all
// three and in this order. What it reports depends on the type of the question:
//
//   - For a rating: the average, the median, how often each value was chosen,
//     and the Net Promoter Score. It also counts the values that are not on the
//     scale.
//   - For choices: how often each one was chosen. Text that respondents wrote
//     because no choice fitted is treated like the answers to an open question.
//   - For an open question: the length and the tone of the answers, up to five
//     themes, and up to two quotes for each theme.
//
// A theme is a word, or two words that follow each other, in at least two
// answers and in at least 5 % of them. Text is compared in lower case, in
// Unicode's form NFKC and without punctuation. English words that say nothing
// about a subject do not count: the two words of "ease of use" are "ease" and
// "use". Chinese and Japanese do not separate words, so their themes are runs
// of two to six ideographs. Other languages have no list of such words.
// Instead, a short word that appears in several answers, before different words
// and never at the end of a clause, is not a theme of its own: hardly any language
// ends a clause with an article or a preposition.
//
// The tone is the balance between praising and complaining English words and
// emoji, with negations taken into account. Answers in other languages count as
// neutral.
//
// # Limits
//
// Extractive reads the first 1000 characters of each answer to find themes and
// tone. Its time and memory grow in proportion to the answers.
//
// # Safety
//
// No answer can add markup to a page, neither Markdown nor HTML. A quote is one
// line of up to 200 characters, verbatim but for three things: white space is
// collapsed, invisible characters that would change how the text is read are
// removed, and an invisible character is added so that programs make no links
// of addresses. A headline is plain text, not Markdown.
//
// Source: management.md §11.5 and §11.6.
package summary
