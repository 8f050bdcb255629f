import JuiceDomain
import JuiceMessages

struct JournalledAnswer {
    let answer: JournalAnswer
    /// All that it says; nil if it lacks something.
    let whole: Answer?
    let value: UnsafeRawBufferPointer
    let offset, timestamp: Int64

    var head: AnswerHead { answer.head }
}

/// Checks the answers of one partition: replays each command in the state in which earlier answers left its store, and compares the
/// stock with these states.
///
/// The stock is a view of the journal: it may skip states, and be late. So its records are read ahead, and each waits for the
/// journal to reach its revision.
struct AnswerAudit {
    typealias Problem = (text: String, category: Fault.Category)

    private struct Store {
        var state: StoreState
        /// The revision of the last stock record that was read.
        var lastWritten = Int.min
        /// The stock records that the journal has not reached.
        var waiting: ArraySlice<(offset: Int64, revision: Int, value: [UInt8])> = []
    }

    private let partition: Int32
    private let rules: AuditRules
    private let replays: [Replay]
    /// The menus that the present owner may have, the likeliest first; none if its menu is not among those given.
    private var menus: [Replay]
    /// Whether any owner had a menu that is not given. Then the fruits of a stock record may be those of that menu.
    private var hasHadOtherMenu = false
    var memory: AnswerMemory
    private var names = ByteKeyTable()
    private var stores: [Store] = []
    /// The state of a store that no record has named yet.
    private var unnamed: StoreState
    private var stock: RecordCursor
    private let decoder = StockDecoder()
    private var waitingCount = 0
    private var audit = Audit()

    private static let mostWaiting = 65_536

    init(_ partition: Int32, by rules: AuditRules, stock: RecordCursor, isWhole: Bool) {
        (self.partition, self.rules, self.stock) = (partition, rules, stock)
        replays = rules.menus.map(Replay.init)
        menus = replays
        memory = AnswerMemory(rules.window)
        unnamed = isWhole ? .untouched : .unknown
    }

    // MARK: - What is known

    /// Reads the value of a record of an input, under the first menu.
    func read(_ value: UnsafeRawBufferPointer?, _ topic: InputTopic) -> Replay.Decoded { replays[0].read(value, topic) }

    func owner(of name: UnsafeRawBufferPointer) -> Int32 { Murmur2.partition(of: name, count: rules.partitionCount) }

    /// The number of a store; nil if it belongs to another partition.
    mutating func number(of name: UnsafeRawBufferPointer) -> Int? {
        guard owner(of: name) == partition else { return nil }
        let (number, isNew) = names.insert(name)
        if isNew { stores.append(Store(state: unnamed)) }
        return number
    }

    func name(of store: Int) -> [UInt8] { names.withKey(at: store) { Array($0) } }

    /// From now on, nothing is known of the stores.
    mutating func forgetStores() {
        unnamed = .unknown
        for store in stores.indices { stores[store].state = .unknown }
    }

    /// Notes that the present owner has a menu with this digest; nil if that is unknown.
    ///
    /// - Returns: whether it may be one of the given menus.
    @discardableResult
    mutating func setMenu(_ digest: UInt64?) -> Bool {
        menus = digest.map { digest in replays.filter { $0.digest == digest } } ?? replays
        if menus.isEmpty { hasHadOtherMenu = true }
        return !menus.isEmpty
    }

    // MARK: - The verdict

    mutating func check(_ given: JournalledAnswer, to command: Command) -> [Problem] {
        let head = given.head
        if given.answer.role == .lost {
            audit.counts.duplicates += 1
            guard let was = memory.formerOutcome(of: command) else {
                audit.counts.unjudged += 1
                return []
            }
            // Otherwise the order is rejected, and the cancel carried out.
            let isPossible = was != (command.kind == .cancel ? .notMade : .cancelled)
            if isPossible, let said = given.value.beforeMessage, said.isSame(as: replays[0].answer(lost: was, head)) { return [] }
            return [("is answered as lost, not as of a command that was \(was.name)", .wrong)]
        }
        let known = memory.firstAnswer(to: command)
        let first = known?.kind == command.kind ? known : nil
        if head.isDuplicate {
            audit.counts.duplicates += 1
            if let first {
                if memory.isNew(command.times, after: first) {
                    return [("is answered as a repeat, but was sent too long after \(first.offset)", .wrong)]
                }
                let isSame = replays[0].contents(of: given.value, head) == first.contents
                return isSame ? [] : [("is answered otherwise than at \(first.offset)", .wrong)]
            }
            guard memory.mayHaveExpired(command.times) else {
                return [("is answered as a duplicate, and was not answered before", .wrong)]
            }
            audit.counts.unjudged += 1
            return []
        }
        var problems: [Problem] = []
        let difference = difference(of: given, from: command)
        let isOwnRepeat = first.map { memory.isRepeatByItself($0, command.times) } ?? false
        if let first, memory.isRemembered(first, command.times) || isOwnRepeat && rules.limitsTimes {
            problems.append(("is carried out again, after \(first.offset)", .doubled))
            // A repetition of the first answer changed nothing, even if it is not marked as a duplicate.
            if difference != nil, replays[0].contents(of: given.value, head) == first.contents { return problems }
        } else if isOwnRepeat {
            audit.counts.unjudged += 1
        }
        if let difference { problems.append((difference, .wrong)) }
        adopt(given, of: command.store, sent: command.times)
        return problems
    }

    /// What is wrong with a first answer. A menu that explains it counts as that of the owner.
    private mutating func difference(of given: JournalledAnswer, from command: Command) -> String? {
        if menus.isEmpty {
            audit.counts.unjudged += 1
            return nil
        }
        guard let said = given.value.beforeMessage else { return "has an answer that does not end with a message" }
        let revision = given.answer.revision
        var state = stores[command.store].state
        if state.revision == nil, revision > 0 {
            state = revision == 1 ? .untouched : StoreState(levels: state.levels, revision: revision - 1)
        }
        let isKnownStore = rules.stores?.contains(name(of: command.store))
        let returned = given.answer.role == .cancel ? given.whole?.outcome.amounts ?? [] : []
        var right: [UInt8] = []
        for (place, menu) in menus.enumerated() {
            let content = menu === replays[0] ? command.content : menu.content(of: command)
            for task in memory.tasks(of: command, content, isKnownStore: isKnownStore, returned: returned) {
                guard let expected = menu.answer(to: task, given.head, on: state) else {
                    audit.counts.unjudged += 1
                    return nil
                }
                if said.isSame(as: expected) {
                    if place > 0 { menus.swapAt(0, place) }
                    return nil
                }
                if right.isEmpty { right = expected }
            }
        }
        return "is \(given.head.shown(in: said)), should be \(given.head.shown(in: right))"
    }

    /// Takes over what an answer says if it cannot be checked.
    ///
    /// - Parameter ifNew: whether to ignore changes that the store already has, as those of a record that is there twice.
    mutating func adopt(_ given: JournalledAnswer, ifNew: Bool) {
        guard let store = number(of: given.head.store.bytes) else { return }
        if ifNew, given.answer.revision <= stores[store].state.revision ?? -1 { return }
        adopt(given, of: store, sent: nil)
    }

    /// Accepts what an answer says, right or wrong, so that one fault does not cause another for each later answer.
    ///
    /// - Parameter times: when its command was sent; if nil (unknown), the answer is not remembered for repeats.
    private mutating func adopt(_ given: JournalledAnswer, of store: Int, sent times: SendTimes?) {
        let (answer, head) = (given.answer, given.head)
        if answer.revision > 0, !head.isDuplicate {
            var state = stores[store].state
            if let menu = menus.first?.menu {
                // Fruits that are not on the menu leave the store.
                let known = menu.fruits.compactMap { fruit in state.level(of: fruit).map { (fruit.id, $0) } }
                state.levels = Dictionary(known) { $1 }
            }
            for part in given.whole?.outcome.left ?? [] { state.levels[part.fruit] = part.amount }
            state.revision = answer.revision
            set(given.whole == nil ? .unknown : state, of: store)
        }
        guard let times else { return }
        if let type = given.whole?.type { audit.firstAnswers.add(type) }
        guard answer.role != .unremembered else { return }
        let order = AnswerHead(head.command.ofID, id: head.id, store: head.store, offset: 0)
        memory.remember(
            AnswerMemory.FirstAnswer(
                offset: given.offset, contents: replays[0].contents(of: given.value, head), kind: head.command, was: answer.was,
                taken: given.whole?.outcome.amounts ?? [], sent: times.earliest, latest: times.sent, answered: given.timestamp,
                own: times.own),
            RecordDigest(of: head), order: RecordDigest(of: order), times)
    }

    /// The journal has reached a state of a store: compares the stock with it.
    private mutating func set(_ state: StoreState, of store: Int) {
        stores[store].state = state
        guard let revision = state.revision else { return }
        while let written = stores[store].waiting.first, written.revision <= revision {
            stores[store].waiting.removeFirst()
            waitingCount -= 1
            guard written.revision == revision, !hasHadOtherMenu else { continue }
            let name = name(of: store)
            // Each owner writes the fruits of its own menu.
            let right = replays.compactMap { replay in name.withUnsafeBytes { replay.stock(of: $0, state) } }
            guard let first = right.first, !right.contains(written.value) else { continue }
            report(written.offset, store, revision, "it should be \(String(decoding: first, as: UTF8.self))")
        }
    }

    // MARK: - The stock

    mutating func readStock() throws {
        while waitingCount < Self.mostWaiting, let record = try stock.next() {
            if let problem = read(record) { audit.add(Fault(.wrong, stock.place(record.offset), problem)) }
        }
    }

    private mutating func read(_ record: AuditRecord) -> String? {
        guard let value = record.value, let key = record.key else { return "it has no key or no value" }
        guard let stock = try? value.withUnsafeBytes(decoder.decode) else { return "it is not the stock of a store" }
        let subject = "store \(quoted(stock.store.utf8)), revision \(stock.revision)"
        guard let store = BorrowedText.withText(stock.store, { number(of: $0.bytes) }) else {
            return "\(subject): the store belongs to another partition"
        }
        let last = stores[store].lastWritten
        if last > stock.revision { return "\(subject): it comes after revision \(last)" }
        stores[store].lastWritten = stock.revision
        stores[store].waiting.append((record.offset, stock.revision, value))
        waitingCount += 1
        return key == name(of: store) ? nil : "\(subject): its key is another store"
    }

    /// Checks the rest of the stock after the last record of the journal.
    ///
    /// - Parameter isEndKnown: whether no later answers may be missing.
    /// - Returns: the faults of the stock, and the counts of the answers.
    mutating func finish(isEndKnown: Bool) throws -> Audit {
        repeat {
            for store in stores.indices {
                for written in stores[store].waiting {
                    guard isEndKnown, let last = stores[store].state.revision, written.revision > last else { continue }
                    let problem = last == 0 ? "the store was never changed" : "its last change was the one numbered \(last)"
                    report(written.offset, store, written.revision, problem)
                }
                stores[store].waiting = []
            }
            waitingCount = 0
            try readStock()
        } while waitingCount > 0
        for fault in stock.faults { audit.add(fault) }
        audit.counts.stores = stores.count
        return audit
    }

    private mutating func report(_ offset: Int64, _ store: Int, _ revision: Int, _ problem: String) {
        audit.add(Fault(.wrong, stock.place(offset), "store \(quoted(name(of: store))), revision \(revision): \(problem)"))
    }
}

extension AnswerHead {
    /// An answer as faults show it: its type, and all that follows this head.
    fileprivate func shown(in answer: some Sequence<UInt8>) -> String {
        let text = String(decoding: Array(answer), as: UTF8.self)
        let place = #","offset":\#(offset)"# + (from.map { #","from":"\#($0.header)""# } ?? "")
        let type = text.dropFirst(#"{"type":""#.count).prefix { $0 != "\"" }
        return "\(type)\(text.firstRange(of: place).map { text[$0.upperBound...] } ?? "")"
    }
}

/// Text from records as faults show it: quoted, and cut after 64 bytes.
func quoted(_ bytes: some Collection<UInt8>) -> String {
    let longest = 64
    let text = String(decoding: bytes.prefix(longest), as: UTF8.self)
    return "\"\(text)\(bytes.count > longest ? "…" : "")\""
}
