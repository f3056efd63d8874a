// Package summary puts the answers to a survey into words: a page about one
// question, and a headline about a survey.
//
//	var s summary.Extractive
//	out, err := s.Summarize(ctx, summary.Input{
//		Survey:   "Onboarding",
//		Question: summary.Question{Type: summary.Open, Text: "What should we improve?"},
//		Answers:  [][]string{{"Better docs, please."}, {"The docs are out of date."}},
//	})
//
// [Summarizer] is what the management API asks. [Extractive], which is built in,
// counts and quotes. It asks nobody, and says the same about the same answers, to
// the byte. Others may hand answers to a service that writes; what they have to mind
// is said there.
//
// # What Extractive says
//
// A page is Markdown with the headings Overview, Themes and Quotes, always all
// three and in this order.
//
//   - Of a rating: average, median, how often each value was chosen, and the Net
//     Promoter Score. Values that the scale does not have are counted as such.
//   - Of a choice: how often each was chosen. What people wrote because no choice
//     fitted is treated as the answers to an open question.
//   - Of an open question: how long answers are, what their tone is, up to five
//     themes, and up to two quotes of each.
//
// A theme is a word, or two that follow each other, in at least two answers and in
// 5 % of them. Text is compared in lower case, in Unicode's form NFKC and without
// punctuation. English words that say nothing about a subject do not count, as in
// "ease of use". Chinese and Japanese do not separate words: there, themes are up
// to six ideographs. For other languages there is no list. Instead, short words that
// several answers have before different words, and none at the end of a clause, are
// no themes of their own: hardly any language ends a clause with an article or a
// preposition.
//
// The tone is the balance of English words and of emoji, read with their
// negations. Answers in other languages count as neutral.
//
// # Limits
//
// Themes and tone are those of the first 1000 characters of each answer. Time and
// memory grow in proportion to the answers.
//
// # Safety
//
// Whatever answers contain, in Markdown and in HTML it is text. Quotes are one
// line of up to 200 characters, verbatim but for white space, for invisible
// characters that would change how they are read, and for one that keeps programs
// from making links of addresses. Headlines are no Markdown: they are plain text.
//
// Source: management.md §11.5 and §11.6.
package summary
