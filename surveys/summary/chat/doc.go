// Package chat summarizes the answers to surveys with a service that writes text: any
// that takes POST {URL}/chat/completions, as OpenAI's API and many others do.
//
// Counting stays here: what leaves the machine is a question with the answers that
// respondents have written in their own words, as [Summarizer.Notice] says.
package chat
