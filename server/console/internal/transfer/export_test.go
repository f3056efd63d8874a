package transfer

// ImportSteps returns what the page of an import says when it counts something.
func ImportSteps(what string, done, total int) (words []string) {
	for _, s := range stepsOf(&importRun{what: what, done: done, total: total}) {
		words = append(words, s.Name+": "+s.Words)
	}
	return words
}
