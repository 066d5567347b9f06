package protocol

import (
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func TestMessagesStayShort(t *testing.T) {
	long := strings.Repeat("n", 100_000)
	for _, frame := range []string{
		`{"` + long + `":1,"` + long + `":1}`, `{"type":"` + long + `"}`, `{"type":"ping","x":{"` + long + `":1,"` + long + `":2}}`,
		`{"type":"ping","x":` + strings.Repeat("9", 100_000) + `}`, `{"type":"subscribe","room":"r","cursor":{"` + long + `":1,"` + long + `":1}}`,
	} {
		if _, problem := DecodeCommand([]byte(frame), &DefaultLimits); problem == nil || len(problem.Message) > 200 {
			t.Errorf("%.60s: %.300v", frame, problem)
		}
	}
}

// A room's name that is kept must not keep its frame: 200 subscribes of 200 KiB are 40 MB.
func TestKeptStringsDontHoldTheirFrames(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	frame := []byte(`{"type":"subscribe","ref":"1","x":"` + strings.Repeat("x", 200<<10) + `","room":"r","cursor":{"epoch":"e","after":1,"messageId":"m"}}`)
	kept := make([]Command, 0, 200)
	before := heap()
	for range cap(kept) {
		c, problem := DecodeCommand(frame, &DefaultLimits)
		if problem != nil {
			t.Fatal(problem)
		}
		kept = append(kept, c)
	}
	if grown := int64(heap()) - int64(before); grown > 2<<20 {
		t.Fatalf("%d commands hold %d bytes", len(kept), grown)
	}
	runtime.KeepAlive(kept)
}

func TestDecodedCommandsDontShareTheFrame(t *testing.T) {
	frame := []byte(benchSend)
	c, problem := DecodeCommand(frame, &DefaultLimits)
	if problem != nil {
		t.Fatal(problem)
	}
	before := string(AppendCommand(nil, &c))
	for i := range frame {
		frame[i] = 'x' // as a connection reads its next frame into the same buffer
	}
	if after := string(AppendCommand(nil, &c)); after != before {
		t.Fatalf("the command changed with its frame: %s", after)
	}
}

func TestSendCostsTwoAllocations(t *testing.T) {
	frame := []byte(benchSend)
	if n := testing.AllocsPerRun(1000, func() { _, _ = DecodeCommand(frame, &DefaultLimits) }); n > 2 {
		t.Fatalf("%v allocations", n)
	}
	c, _ := DecodeCommand(frame, &DefaultLimits)
	dst := make([]byte, 0, 1<<10)
	if n := testing.AllocsPerRun(1000, func() {
		AppendMessage(dst, c.Room, "e", 1, "m", "ann", c.ClientMessageID, c.Text, c.Data, 5)
		FingerprintOf(c.Text, c.Data)
	}); n > 0 {
		t.Fatalf("%v allocations", n)
	}
}

// What a type doesn't have doesn't come through, whatever the frame says.
func TestForeignMembersAreDropped(t *testing.T) {
	all := Command{
		Ref: "1", Token: "t", Client: "c", Room: "r", Cursor: &Cursor{"e", 1, "m"}, Limit: 7, ClientMessageID: "k", Text: "x",
		Data: []byte("1"), SentAt: 5, Follows: "j", Before: 9,
	}
	members := `"ref":"1","token":"t","client":"c","room":"r","cursor":{"epoch":"e","after":1,"messageId":"m"},"limit":7,` +
		`"clientMessageId":"k","text":"x","data":1,"sentAt":5,"follows":"j","before":9}`
	for name := range commandShapes {
		want := all
		want.Type = name
		want, problem := DecodeCommand(AppendCommand(nil, &want), &DefaultLimits)
		if problem != nil {
			t.Fatal(problem)
		}
		got, problem := DecodeCommand([]byte(`{"type":"`+name+`",`+members), &DefaultLimits)
		if problem != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v\nwant %+v", got, problem, want)
		}
	}
}
