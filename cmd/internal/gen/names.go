package gen

import (
	"go/token"
	"strconv"
	"strings"
	"unicode"
)

// initialisms are words that Go writes in capitals.
var initialisms = map[string]bool{
	"api": true, "cpu": true, "css": true, "db": true, "dns": true, "html": true, "http": true, "https": true, "id": true, "ip": true,
	"json": true, "jwt": true, "os": true, "pdf": true, "sdk": true, "sql": true, "ssh": true, "sso": true, "tls": true, "ttl": true,
	"ui": true, "uid": true, "uri": true, "url": true, "utc": true, "uuid": true, "vm": true, "xml": true,
}

// words returns a text as the rest of an identifier: words begin with a capital, and what
// is neither letter nor digit ends a word.
func words(text string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) || r == unicode.ReplacementChar
	}) {
		if initialisms[strings.ToLower(word)] {
			b.WriteString(strings.ToUpper(word))
			continue
		}
		letters := []rune(word)
		letters[0] = unicode.ToUpper(letters[0])
		b.WriteString(string(letters))
	}
	return b.String()
}

// exported returns a text as an identifier that is exported. If its words would be none,
// prefix stands before them.
func exported(text, prefix string) string {
	name := words(text)
	if token.IsExported(name) {
		return name
	}
	return prefix + name
}

// A scope has the names that are taken.
type scope map[string]bool

// take returns a name that is free: the one that is wanted, or with the lowest number from
// 2 behind it.
func (s scope) take(name string) string {
	for n, free := 2, name; ; n++ {
		if !s[free] {
			s[free] = true
			return free
		}
		free = name + strconv.Itoa(n)
	}
}
