import JuiceMaker
import JuiceMessages
import Testing

@testable import JuiceKiosk

struct MailboxTests {
    private typealias Box = Mailbox<String>

    @Test func ownAnswersComeFirstThenStateThenOthers() {
        var box = Box()
        box.add(answer: "other")
        box.put("board", in: .board)
        box.put("link", in: .link)
        box.add(own: "own")
        #expect(box.drain() == ["own", "link", "board", "other"])
        #expect(box.drain() == [])
    }

    @Test func aSlowPageGetsTheNewestState() {
        var box = Box()
        for revision in 0..<100_000 {
            box.put("stock \(revision)", in: .stock)
            box.add(answer: "\(revision)")
        }
        let taken = box.drain()
        #expect(taken.first == "stock 99999")
        #expect(taken.dropFirst() == (99_970..<100_000).map(String.init)[...])
    }

    @Test func ownAnswersSurviveAFlood() {
        var box = Box()
        box.add(own: "mine")
        for number in 0..<100_000 { box.add(answer: "\(number)") }
        #expect(box.drain().first == "mine")
    }
}

struct AwaitedAnswersTests {
    private func command(_ id: String, _ kind: CommandKind = .order) -> AwaitedAnswers.Command {
        AwaitedAnswers.Command(kind: kind, store: Name("main"), id: Name(id))
    }

    @Test func anAnswerGoesToItsPageOnce() {
        var awaited = AwaitedAnswers()
        #expect(awaited.add(command("a"), page: Name("page")) == true)
        #expect(awaited.remove(command("a", .restock)) == nil)
        #expect(awaited.remove(command("a")) == Name("page"))
        #expect(awaited.remove(command("a")) == nil)
        #expect(awaited.isEmpty)
    }

    @Test func aPageThatWasLoadedAnewTakesOver() {
        var awaited = AwaitedAnswers()
        #expect(awaited.add(command("a"), page: Name("first")) == true)
        #expect(awaited.add(command("a"), page: Name("second")) == true)
        #expect(awaited.remove(command("a")) == Name("second"))
    }

    @Test func aPageHasSoManyAndNoMore() {
        var awaited = AwaitedAnswers()
        for number in 0..<AwaitedAnswers.mostOfPage { #expect(awaited.add(command("\(number)"), page: Name("p")) == true) }
        #expect(awaited.add(command("more"), page: Name("p")) == false)
        #expect(awaited.add(command("0"), page: Name("p")) == true)
        #expect(awaited.add(command("more"), page: Name("other")) == true)
        awaited.remove(command("1"))
        #expect(awaited.add(command("again"), page: Name("p")) == true)
    }

    @Test func theLongestWaitingIsForgotten() {
        var awaited = AwaitedAnswers()
        for number in 0...AwaitedAnswers.most { #expect(awaited.add(command("\(number)"), page: Name("\(number / 50)")) == true) }
        #expect(awaited.remove(command("0")) == nil)
        #expect(awaited.remove(command("1")) == Name("0"))
    }

    @Test func idsAreBytes() {
        #expect(Name("caf\u{E9}") != Name("cafe\u{301}"))
        #expect(Name("강남") == Name("강남"))
    }
}
