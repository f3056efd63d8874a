package summary

// praise and complaint are English words that express approval and disapproval.
// Words that are as common in wishes as in praise, like "better" and "faster",
// are in neither set.
var (
	praise = set(`
		amazing appreciate awesome beautiful best brilliant clean clear comfortable convenient cool delighted
		delightful easily easy effective efficient elegant enjoy enjoyed enjoying excellent exceptional fantastic
		fast favorite favourite flawless friendly fun glad good great happy helped helpful helps impressed impressive
		incredible intuitive like liked likes love loved lovely loves loving nice outstanding perfect perfectly
		pleasant pleased pleasure polished powerful quick quickly recommend recommended reliable responsive satisfied
		simple smooth smoothly solid stable straightforward stunning super superb terrific thrilled useful valuable
		wonderful works worth wow`)

	complaint = set(`
		annoyed annoying awful bad boring broke broken bug buggy bugs bulky clumsy clunky cluttered complicated
		confused confuses confusing crap crash crashed crashes crashing cumbersome difficult disappointed
		disappointing disaster dislike disliked error errors expensive fail failed failing fails failure freezes
		frustrated frustrating frustration garbage hard hate hated hates horrible impossible inaccurate inconsistent
		issue issues lack lacking lacks lag laggy lags lose losing lost mess messy missing nightmare overpriced
		overwhelming pain painful poor poorly problem problems regret ridiculous sad slow slowly sluggish stuck
		stupid terrible tedious trouble ugly unclear unable unhappy unintuitive unreliable unstable unusable
		upset useless waste wasted weird worse worst wrong`)
)

// duties are English words for qualities that people take for granted: they are
// a complaint if they are negated, and say nothing if they are not.
var duties = set(`
	find function functional load loading loads open opens respond responds save saves sync syncs understand update
	work worked working`)

// emoji maps an emoji to its tone, 1 or -1.
var emoji = func() map[rune]int {
	tones := make(map[rune]int)
	for _, r := range "👍👏🙌👌💪🙏😀😃😄😁😆😊🙂😉😍🥰😘🤩😎🤗🥳😻❤♥💖💙💚💛💜🧡🎉🔥⭐🌟✨💯🚀☺✅" {
		tones[r] = 1
	}
	for _, r := range "👎😞😟🙁☹😕😠😡🤬😢😭😤😩😫😖😣😒🙄😑😔😰😱🤮🤢💩💔❌🤦😿" {
		tones[r] = -1
	}
	return tones
}()

// maxBefore is how many words before a word can change its tone.
const maxBefore = 3

// After one of the wishes, praise is only hoped for. "Like" is a verb only
// after one of the speakers.
var (
	wishes   = set(`could id should wish would`)
	speakers = set(`i we`)
)

// tone returns how much more the clauses praise than complain. A negation
// shortly before a word reverses its tone.
func (t *texts) tone(clauses []clause) (sum int) {
	for _, c := range clauses {
		if c.ideographs {
			continue
		}
		for i, id := range c.units {
			word := t.units[id].text
			before := c.units[max(i-maxBefore, 0):i]
			switch {
			case word == "like" && !t.anyOf(before, speakers): // as in "feels like"
			case word != "recommend" && praise[word] && t.anyOf(before, wishes): // as in "would be nice"
			case praise[word]:
				sum += t.sign(before)
			case complaint[word]:
				sum -= t.sign(before)
			case duties[word] && t.sign(before) < 0:
				sum--
			}
		}
	}
	return sum
}

func (t *texts) anyOf(units []int32, words map[string]bool) bool { return t.countOf(units, words) > 0 }

func (t *texts) countOf(units []int32, words map[string]bool) (n int) {
	for _, id := range units {
		if words[t.units[id].text] {
			n++
		}
	}
	return n
}

// sign returns -1 if the words before contain an odd number of negations, else
// 1.
func (t *texts) sign(before []int32) int {
	if t.countOf(before, negations)%2 == 1 {
		return -1
	}
	return 1
}

// tones lists how many texts are positive, neutral and negative.
func (t *texts) tones() string {
	var positive, negative int
	for _, text := range t.all {
		switch {
		case text.tone > 0:
			positive++
		case text.tone < 0:
			negative++
		}
	}
	n := len(t.all)
	return bulletList([]string{
		"Positive: " + share(positive, n),
		"Neutral: " + share(n-positive-negative, n),
		"Negative: " + share(negative, n),
	})
}
