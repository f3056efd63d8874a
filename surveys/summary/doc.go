// Package summary puts the answers to a survey into words: a [Summarizer] writes
// a page about one question, and a headline about a whole survey.
//
// [Extractive], the built-in one, counts ratings and choices. Of answers in the
// respondents' own words it names up to five themes, and quotes up to two answers
// for each: those that speak of most themes. A theme is a word, or two words that
// follow each other, in at least two answers and in at least 5 % of them. Text is
// compared in lower case, in Unicode's form NFKC and without punctuation. English
// words that say nothing about a subject do not count. Nor do words of up to three
// letters, such as articles of other languages, unless somebody has written them
// in capitals. The first 1000 characters of each answer are read.
//
// No answer can add markup to a page, neither Markdown nor HTML. A quote is one
// line of up to 200 characters, verbatim but for three things: white space is
// collapsed, invisible characters that would change how the text is read are
// removed, and an invisible character is added so that programs make no links
// of addresses. A headline is plain text, not Markdown.
//
// Source: management.md §11.5 and §11.6.
package summary
