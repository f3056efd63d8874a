package summary

// English words that praise, and that complain. Those that are as common in wishes
// as in praise, like better and faster, are in neither.
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

// What is taken for granted: English words that complain if they are negated, and
// say nothing if they are not.
var duties = set(`
	find function functional load loading loads open opens respond responds save saves sync syncs understand update
	work worked working`)

// emoji have a tone of their own.
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

// Words before another that change its tone.
const mostBefore = 3

// Words after which praise is none yet, and those without which to like is no verb.
var (
	wishes   = set(`could id should wish would`)
	speakers = set(`i we`)
)

// tone is how much more clauses praise than complain. A negation turns what
// follows soon around.
func (t *texts) tone(clauses []clause) (sum int) {
	for _, c := range clauses {
		if c.ideographs {
			continue
		}
		for i, id := range c.units {
			word := t.units[id].text
			before := c.units[max(i-mostBefore, 0):i]
			switch {
			case word == "like" && !t.anyOf(before, speakers): // feels like
			case word != "recommend" && praise[word] && t.anyOf(before, wishes): // would be nice
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

// sign is 1, or -1 after a negation.
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
	return list([]string{
		"Positive: " + share(positive, n),
		"Neutral: " + share(n-positive-negative, n),
		"Negative: " + share(negative, n),
	})
}
