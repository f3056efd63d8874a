package reference

import (
	"strings"

	"github.com/dlclark/regexp2/v2"
)

// word is \w (§4.6), within brackets.
const word = `\p{L}\p{Nl}\p{Other_Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}`

// dotNet has the patterns of the generator that .NET reads otherwise than §4.6, as .NET
// has them; "" stands for an invalid one.
var dotNet = map[string]string{
	`[a-z&&[^p]]`: `[a-oq-z]`, `[^[a-p]r]`: `[^a-pr]`, `(?x) ^ p r # o`: `^pr`, `^[\w--\d]+$`: `^(?:(?!\d)[` + word + `])+\z`,
	`^\u{e9}`: `^é`, `\p{Alphabetic}`: `[\p{L}\p{Nl}\p{Other_Alphabetic}]`, `^\P{Lowercase}`: `^[^\p{Ll}\p{Other_Lowercase}]`,
	`\p{Script=Greek}`: `\p{Greek}`, `[[:upper:]]`: `[A-Z]`, `\hr`: `[0-9A-Fa-f]r`, `[^\w]`: `[^` + word + `]`, `[\W]`: `[^` + word + `]`,
	`\b{start}pro`: "", `(?R)a`: "", `(?-u)a`: "", `\<pro`: "", `p{,2}`: "", `\Qpro\E`: "", `[\w-o]`: "", `\Z`: "", `[[]]`: "",
}

// dotNetEscapes is for the other patterns: no word of .NET has Ⓐ, and its $ is also before
// a line end that is the last character.
var dotNetEscapes = strings.NewReplacer(
	`\\`, `\\`, `\$`, `\$`, `$`, `\z`, `\w`, "["+word+"]", `\W`, "[^"+word+"]",
	`\b`, "(?:(?<=["+word+"])(?!["+word+"])|(?<!["+word+"])(?=["+word+"]))",
	`\B`, "(?:(?<=["+word+"])(?=["+word+"])|(?<!["+word+"])(?!["+word+"]))",
)

// MatchPattern matches one of the generator's patterns with a text (§4.6). It decides all with
// regexp2, which the evaluator does for few.
func MatchPattern(pattern, text string) (matched, valid bool) {
	translated, ok := dotNet[pattern]
	if !ok {
		translated = dotNetEscapes.Replace(pattern)
	}
	re, err := regexp2.Compile(translated)
	if err != nil || ok && translated == "" {
		return false, false
	}
	matched, err = re.MatchString(text)
	return matched && err == nil, true
}
