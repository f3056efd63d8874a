package surveys

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/surveys/internal/rules"
)

const (
	otherAnswers    = "<other>" // free text where there are choices
	maxDistribution = 200       // distinct values
)

// knownAnswers is how many different answers to a question are read once only, if they
// have at most knownAnswerBytes. Most questions have few answers, unless they ask for
// free text.
const knownAnswers, knownAnswerBytes = 1000, 256

// An answerCounter counts the answers to a question.
type answerCounter struct {
	question *rules.Question
	stats    QuestionStats
	known    map[string]*answer // by their JSON

	ratings, sum int // how many answers are on the scale, and their sum

	byID, byIndex json.RawMessage // of the response that is being counted
}

// An answer is what counts of an answer in JSON.
type answer struct {
	values []string // for the distribution
	rating int      // -1 if it is not on the scale
}

// answerCounters count the answers to all questions of a survey.
type answerCounters struct {
	list []answerCounter

	// members are the numbers of the questions to which a member of a response may be
	// an answer, by its name: an ID or an index.
	members map[string][]memberOf
}

// A memberOf says that a member answers a question, by its ID or by its index.
type memberOf struct {
	question int
	byIndex  bool
}

func newAnswerCounters(questions []rules.Question) answerCounters {
	c := answerCounters{list: make([]answerCounter, len(questions)), members: make(map[string][]memberOf)}
	for i := range questions {
		q := &questions[i]
		c.list[i] = answerCounter{
			question: q, known: make(map[string]*answer),
			stats: QuestionStats{ID: q.ID, Index: q.Index, Text: q.Text, Type: q.Type, Distribution: map[string]int{}},
		}
		index := strconv.Itoa(q.Index)
		c.members[q.ID] = append(c.members[q.ID], memberOf{i, false})
		c.members[index] = append(c.members[index], memberOf{i, true})
	}
	return c
}

// add counts the answers of a response.
func (c *answerCounters) add(object json.RawMessage) {
	for i := range c.list {
		c.list[i].byID, c.list[i].byIndex = nil, nil
	}
	for o := jsonscan.Value(object).Object(); o.Next(); {
		for _, m := range c.members[string(o.Name())] {
			if m.byIndex {
				c.list[m.question].byIndex = json.RawMessage(o.Value())
			} else {
				c.list[m.question].byID = json.RawMessage(o.Value())
			}
		}
	}
	for i := range c.list {
		c.list[i].add()
	}
}

// stats returns what was counted.
func (c *answerCounters) stats() []QuestionStats {
	list := make([]QuestionStats, len(c.list))
	for i := range c.list {
		a := &c.list[i]
		list[i] = a.stats
		if a.ratings > 0 {
			list[i].Average = new(roundHundredths(float64(a.sum) / float64(a.ratings)))
		}
	}
	return list
}

// add counts the answer of a response, if it has one.
func (c *answerCounter) add() {
	if c.byID == nil && c.byIndex == nil {
		return
	}
	a := c.read()
	if a == nil {
		return
	}
	c.stats.Responses++
	for _, value := range a.values {
		if _, known := c.stats.Distribution[value]; known || len(c.stats.Distribution) < maxDistribution {
			c.stats.Distribution[value]++
		}
	}
	if a.rating >= 0 {
		c.ratings++
		c.sum += a.rating
	}
}

// read returns the answer of a response, nil if it is empty.
func (c *answerCounter) read() *answer {
	one := c.byID
	if one == nil {
		one = c.byIndex
	}
	alone := c.byID == nil || c.byIndex == nil
	if alone {
		if inWords := c.question.Type == rules.Open || c.question.Type == rules.Link; inWords && one[0] == '"' && len(one) > len(`""`) {
			return &answer{rating: -1} // what it says does not count
		}
		if a, ok := c.known[string(one)]; ok {
			return a
		}
	}
	list := answersIn(c.byID, c.byIndex, c.question)
	var a *answer
	if len(list) > 0 {
		a = &answer{rating: -1}
		if x, ok := ratingOf(c.question, list[0]); ok {
			a.rating = x
		}
		if c.question.Type != rules.Open && c.question.Type != rules.Link {
			a.values = list
			for i, value := range list {
				if choices := c.question.Type == rules.SingleChoice || c.question.Type == rules.MultipleChoice; choices && !isChoice(c.question, value) {
					list[i] = otherAnswers
				}
			}
		}
	}
	if alone && len(one) <= knownAnswerBytes && len(c.known) < knownAnswers {
		c.known[string(one)] = a
	}
	return a
}

// ratingOf returns the value of an answer, if it is on the scale of the question. A scale of
// ten begins with 0, every other one with 1.
func ratingOf(question *rules.Question, answer string) (int, bool) {
	least := 1.0
	if question.Scale == 10 {
		least = 0
	}
	x, err := strconv.ParseFloat(answer, 64)
	ok := err == nil && question.Type == rules.Rating && x >= least && x <= float64(question.Scale) && x == math.Trunc(x)
	return int(x), ok
}

// isChoice reports whether an answer is one of the choices. The last choice may stand for
// free text.
func isChoice(question *rules.Question, answer string) bool {
	choices := question.Choices
	if question.OpenChoice && len(choices) > 0 {
		choices = choices[:len(choices)-1]
	}
	return slices.Contains(choices, answer)
}
