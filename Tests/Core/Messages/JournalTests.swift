import JuiceDomain
import MessageSamples
import Testing

@testable import JuiceMessages

@Suite struct JournalNoteTests {
    private func note(_ value: String) -> JournalNote? { value.asValue { JournalNote($0) } }

    @Test(arguments: GoldenNotes.all.indices)
    func aNoteIsWrittenAndRead(index: Int) throws {
        let (note, value) = GoldenNotes.all[index]
        #expect(written { note.write(into: &$0) } == value)
        #expect(self.note(value) == note)
        #expect(try value.asValue { try JournalReader().read($0).note } == note)
        // No client may take it for an answer.
        #expect(throws: MalformedMessage.self) { try value.asValue { _ = try AnswerDecoder().decode($0) } }
    }

    /// Neither the order of members nor members of a newer service matter.
    @Test func otherMembersAreIgnored() {
        #expect(
            note(
                #" {"x":{"orderId":"o"},"digest":"367026dc90519f37e788e7705d3de2b4","to":5,"offset":42,"topic":"orders","#
                    + #""type":"forwarded"} "#)
                == .forwarded(
                    InputPlace(
                        topic: .orders, partition: nil, offset: 42, digest: GoldenNotes.digest(key: nil, value: "nope")), to: 5)
        )
    }

    @Test func aProcessWithoutAnAttemptIsIgnored() {
        let claim = #"{"type":"claim","ids":[],"since":0,"group":"g","instance":"i","partitions":8"#
        #expect(note(claim + #","process":"p"}"#) == note(claim + "}"))
    }

    /// Other programs compute these digests, too.
    @Test(arguments: GoldenNotes.commands.indices) func aCommandHasTheDigestOfTheContract(index: Int) {
        let (kind, store, id, digest) = GoldenNotes.commands[index]
        let head = AnswerHead(kind, id: BorrowedText(id), store: BorrowedText(store), offset: 1)
        #expect(RecordDigest(of: head).hex == digest)
        #expect(RecordDigest(hex: digest) == RecordDigest(of: head))
    }

    @Test(
        arguments: [
            "", "7", "[]", "{}", #"{"type":7}"#, #"{"type":"holiday"}"#,
            // Answers.
            GoldenAnswers.basketMade[.english],
            #"{"type":"copy","topic":"orders","offset":45,"orderId":"o"}"#,
            #"{"type":"copy","topic":"orders","offset":45,"restockId":null}"#,
            // Places.
            #"{"type":"copy","topic":"juice.orders","offset":45}"#, #"{"type":"copy","topic":"orders","offset":-1}"#,
            #"{"type":"copy","topic":"orders","offset":1,"offset":1}"#,
            #"{"type":"copy","topic":"orders","offset":1,"partition":2147483648}"#,
            // Members with wrong values.
            #"{"type":"forwarded","topic":"orders","offset":1,"to":-1}"#,
            #"{"type":"position","claim":0,"ids":[],"records":1}"#,
            #"{"type":"position","claim":0,"ids":[],"records":1,"changes":1,"sum":"-1","menu":"00"}"#,
            #"{"type":"position","claim":0,"ids":[],"records":1,"changes":1,"sum":"1","menu":"0g"}"#,
            #"{"type":"position","claim":0,"ids":[],"orders":null}"#,
            #"{"type":"position","claim":0,"ids":[],"added":{"orders":1}}"#,
            #"{"type":"position","claim":0,"ids":[],"added":{"stock/1":1}}"#,
            #"{"type":"position","claim":0,"ids":[],"forwarded":{"orders/01":1}}"#,
            #"{"type":"position","claim":0,"ids":[],"forwarded":{"orders/1":-1}}"#,
            #"{"type":"position","claim":0,"ids":[],"forwarded":{"orders/1":1,"orders/1":1}}"#,
            #"{"type":"position","claim":0,"ids":[],"last":{"orders/1":{"offset":1}}}"#,
            #"{"type":"position","claim":0,"ids":[],"last":{"orders/1":{"digest":"367026dc90519f37e788e7705d3de2b4"}}}"#,
            #"{"type":"claim","ids":[],"since":0,"group":"g","instance":"i","partitions":0}"#,
        ]
    )
    func rejectsUnknownAndMalformedNotes(value: String) {
        #expect(note(value) == nil)
    }

    /// Without one of its members, or with one of another type. A record may lack its digest.
    @Test(arguments: GoldenNotes.all.map(\.value)) func rejectsDamagedNotes(value: String) throws {
        let mayLack: Set = [
            "partition", "digest", "orders", "restocks", "added", "forwarded", "before", "records", "oldest", "last", "fenced",
            "attempt", "process", "reason", "copied",
        ]
        for (path, json) in try damages(value, mayLack: mayLack) where path != "digest" { #expect(note(json) == nil, "\(json)") }
    }

    /// The reader can then report that the account is missing.
    @Test func aPositionMayLackItsAccount() {
        guard case .position(let position) = note(#"{"type":"position","restocks":3,"claim":0,"ids":[]}"#) else {
            return #expect(Bool(false), "no position")
        }
        #expect(position.account == nil && position.next == [.restocks: 3])
    }

    /// The values in docs/CONTRACT.md, which other programs compute, too.
    @Test func theAccountsFunctionsAreTheContract() {
        #expect(BorrowedText.withText("gangnam") { StockChanges.weight(of: $0.bytes) } == 5_519_111_618_608_782_329)
        #expect(JournalAccount.digest(of: .standard) == 0x0AA3_D1B7_4F87_7D1A)
        var changes = StockChanges()
        changes.add(3, ofWeight: 1 << 63 | 1)
        #expect(changes == StockChanges(count: 3, sum: 1 << 63 | 3))
        changes.add(-3, ofWeight: 1 << 63 | 1)
        #expect(changes == StockChanges())
    }

    @Test(
        arguments: [
            ("3/42", RecordPosition(partition: 3, offset: 42)),
            ("0/0", RecordPosition(partition: 0, offset: 0)),
            ("2147483647/9223372036854775807", RecordPosition(partition: .max, offset: .max)),
            ("", nil), ("/", nil), ("3", nil), ("3/", nil), ("/42", nil), ("03/42", nil), ("3/042", nil),
            ("+3/42", nil), ("-3/42", nil), ("3/-42", nil), ("3/42/1", nil), (" 3/42", nil), ("3/42 ", nil),
            ("3/4２", nil), ("2147483648/0", nil), ("0/9223372036854775808", nil), ("3/42\u{0}", nil),
        ] as [(String, RecordPosition?)]
    )
    func theSourceOfAForwardedCommandHasOneForm(text: String, source: RecordPosition?) {
        #expect(RecordPosition([UInt8](text)) == source)
        if let source { #expect(source.header == text) }
    }
}

@Suite struct JournalReaderTests {
    private func read<Result>(_ value: String, _ body: (JournalAnswer) throws -> Result) throws -> Result {
        let reader = JournalReader(menu: .standard)
        return try withExtendedLifetime(reader) { try value.asValue { try body(try reader.answer($0)) } }
    }

    /// A restore takes the stock from these levels. ``AnswerCheck`` compares those of all golden answers with what clients read.
    @Test func fruitsThatLeftTheMenuAreSkipped() throws {
        let fruit = Fruit(id: "banana", name: LocalizedName(english: "banana", korean: "바나나"))
        let name = LocalizedName(english: "banana juice", korean: "바나나쥬스")
        let menu = try Menu(fruits: [fruit], juices: [JuiceSpec(id: "b", name: name, recipe: [("banana", 1)])])
        let reader = JournalReader(menu: menu)
        var levels: [String] = []
        try GoldenAnswers.basketMade[.english].asValue { bytes in
            _ = try reader.read(bytes)
            reader.forEachLevel { levels.append("\(menu.fruits[$0].id) \($1)") }
        }
        #expect(levels == ["banana 9"])
    }

    /// What an answer means for repeats of its command, and what became of the command, whatever the language.
    @Test(
        arguments: [
            (GoldenAnswers.juiceMade, .first, .made), (GoldenAnswers.outOfStock, .first, .notMade),
            (GoldenAnswers.restocked, .first, .made), (GoldenAnswers.cancelled, .cancel, .cancelled),
            (GoldenAnswers.cancelledNothing, .cancel, .cancelled), (GoldenAnswers.rejectedOrder, .first, .notMade),
            (GoldenAnswers.rejectedRestock, .first, .notMade),
            // The order stays made.
            (GoldenAnswers.rejectedCancel, .first, .made),
            (GoldenAnswers.rejectedCancelledOrder, .unremembered, .notMade), (GoldenAnswers.unknownStoreOrder, .first, .notMade),
            (GoldenAnswers.unknownStoreRestock, .first, .notMade), (GoldenAnswers.unknownStoreCancel, .unremembered, .made),
        ] as [(GoldenAnswer, JournalAnswer.Role, FormerOutcome)]
    )
    func readsTheRoleAndTheFormerOutcome(answers: GoldenAnswer, role: JournalAnswer.Role, was: FormerOutcome) throws {
        for value in answers.texts { #expect(try read(value) { ($0.role, $0.was) } == (role, was)) }
    }

    @Test func aLostAnswerNamesTheFormerOutcome() throws {
        for (was, kind, answer) in GoldenAnswers.lost {
            for value in answer.texts {
                let (role, former, command) = try read(value) { ($0.role, $0.was, $0.head.command) }
                #expect(role == .lost && former == was && command == kind)
                #expect(try Answer(json: value).outcome == .answerLost(was: was.name))
            }
        }
        let unknown = GoldenAnswers.lost[0].answer[.english].replacing(#""was":"made""#, with: #""was":"eaten""#)
        #expect(throws: MalformedMessage.self) { try read(unknown) { $0.role } }
    }

    /// Whatever wrote the first answer, it is repeated byte for byte, except for its place.
    @Test(
        arguments: [
            ("", ""), (#","from":"3/42""#, ""), ("", #","from":"0/7""#),
            (#","from":"3/42""#, #","from":"0/7""#),
        ],
        [
            "", #","left":{"plum":8.5},"message":"고객님"} "#, #","x":[1,{"offset":1,"from":"1/1"}]}"#,
        ]
    )
    func anAnswerIsGivenAgainToTheByte(sources: (first: String, again: String), rest: String) throws {
        let first = #"{"type":"smoothieMade","orderId":"o\"1","store":"s","offset":1"#
        let again = #"{"type":"smoothieMade","duplicate":true,"orderId":"o\"1","store":"s","offset":1234567"#
        let source = sources.again.isEmpty ? nil : RecordPosition(partition: 0, offset: 7)
        let head = AnswerHead(.order, id: BorrowedText("o\"1"), store: BorrowedText("s"), offset: 1_234_567, from: source)
        let repeated = (first + sources.first + rest).asValue { value in written { $0.append(repeating: value, for: head) } }
        #expect(repeated == again + sources.again + rest)
    }

    @Test(
        arguments: [
            ("{}", "type: missing"), (#"{"type":1}"#, "type: must be a string"),
            (#"{"type":"a","type":"a"}"#, "type: given twice"),
            (#"{"type":"a,b","orderId":"o","store":"s","offset":1}"#, "type: must not have a comma"),
            (#"{"type":"rejected","restockId":"","store":"s","offset":1}"#, "restockId: must be of 1 to 128 bytes"),
            (
                #"{"type":"rejected","orderId":"1","store":"\#(String(repeating: "s", count: 129))","offset":1}"#,
                "store: must be of 1 to 128 bytes"
            ),
            (#"{"type":"x","orderId":"1","store":"s","offset":1,"revision":1}"#, "left: missing"),
            (
                #"{"type":"x","orderId":"1","store":"s","offset":1,"left":{"kiwi":-1},"revision":1}"#,
                "left: must have an amount for each fruit"
            ),
        ]
    )
    func refusesAnswersThatItCannotRestore(value: String, problem: String) {
        let error = #expect(throws: MalformedMessage.self) { try read(value) { _ in } }
        #expect(error?.description == problem)
    }

    /// Otherwise the answer to a repeat would have its place elsewhere, or a member twice.
    @Test(
        arguments: [
            #"{"orderId":"o","type":"rejected","store":"s","offset":1}"#,
            #"{"type":"rejected","store":"s","orderId":"o","offset":1}"#,
            #"{"type":"rejected","orderId":"o","offset":1,"store":"s"}"#,
            #"{"type":"rejected","orderId":"o","store":"s","reason":"r","offset":1}"#,
            #"{"type":"rejected","orderId":"o","store":"s","offset":1,"x":1,"from":"3/42"}"#,
            #"{"type":"rejected","orderId":"o","duplicate":true,"store":"s","offset":1}"#,
            #"{"type":"rejected","orderId":"\u0072","store":"s","offset":1}"#,
            #" {"type":"rejected","orderId":"o","store":"s","offset":1}"#,
        ]
    )
    func anAnswerBeginsWithItsHead(value: String) {
        let error = #expect(throws: MalformedMessage.self) { try read(value) { _ in } }
        #expect(error?.problem == "must begin with the members that all answers have, in their order")
    }

    @Test(
        arguments: [
            (#"{"type":"holiday"}"#, nil), (#"{"type":"holiday","topic":"stock","offset":1}"#, nil),
            (#"{"type":"holiday","topic":"orders"}"#, nil),
            (#"{"offset":7,"x":[1],"topic":"restocks","type":"holiday"}"#, InputPlace(topic: .restocks, partition: nil, offset: 7)),
            (#"{"type":"holiday","topic":"orders","partition":9,"offset":7}"#, InputPlace(topic: .orders, partition: 9, offset: 7)),
        ] as [(String, InputPlace?)]
    )
    func aTypeOfANewerServiceMayNameAPlace(value: String, place: InputPlace?) throws {
        guard case .unknown(let found) = try value.asValue({ try JournalReader().read($0).content }) else { throw Unexpected() }
        #expect(found == place)
    }
}

private struct Unexpected: Error {}

extension JournalReader {
    fileprivate func answer(_ value: UnsafeRawBufferPointer) throws -> JournalAnswer {
        try #require(try read(value).answer)
    }
}
