import JuiceDomain
import JuiceMessages

/// Checks the answers of one partition: replays each command in the state that the answers before it left its store in.
struct AnswerAudit {
    /// What is wrong with an answer.
    typealias Problem = (text: String, category: Fault.Category)

    private let rules: AuditRules
    private let replays: [Replay]
    private let decoder = AnswerDecoder()
    /// The menus that the present owner may have, the likeliest first; none if it has one that is not given.
    private var menus: [Replay]
    var memory: AnswerMemory
    private(set) var stores: Stores
    private var states: [StoreState] = []
    private var stock: StockAudit
    /// Whether stores that were not named yet have their initial stock.
    private var isWhole: Bool

    init(_ partition: Int32, by rules: AuditRules, stock: RecordCursor, isWhole: Bool) {
        (self.rules, self.isWhole) = (rules, isWhole)
        replays = rules.menus.map(Replay.init)
        menus = replays
        (memory, stores) = (AnswerMemory(rules), Stores(of: partition, rules.partitionCount))
        self.stock = StockAudit(stock, replays)
    }

    // MARK: - What is known

    /// Reads a record of an input as the present owner does.
    func read(_ value: UnsafeRawBufferPointer?, _ topic: InputTopic) -> Replay.Decoded {
        (menus.first ?? replays[0]).read(value, topic)
    }

    /// The number of a store; nil if it belongs to another partition.
    mutating func number(of store: UnsafeRawBufferPointer) -> Int? { stores.number(of: store) }

    /// It is unknown what was answered before.
    ///
    /// - Parameter keepsStates: whether the states of stores that were named are known all the same.
    mutating func restart(at time: Int64, keepsStates: Bool) {
        memory.forget(at: time)
        isWhole = false
        if !keepsStates { states = [] }
    }

    /// Nothing is known of a store, or of any.
    mutating func loseState(of store: Int? = nil) {
        if let store { set(StoreState(isWhole: false), of: store) } else { states = states.map { _ in StoreState(isWhole: false) } }
    }

    /// The next owner may have another menu.
    mutating func changeOwner() { menus += replays.filter { replay in !menus.contains { $0 === replay } } }

    /// The present owner has a menu with this digest.
    ///
    /// - Returns: whether it is one of those that are given.
    mutating func setMenu(_ digest: UInt64) -> Bool {
        menus = replays.filter { $0.digest == digest }
        if menus.isEmpty { stock.hasUnknownMenu = true }
        return !menus.isEmpty
    }

    /// Reads the stock ahead.
    mutating func readStock() throws { try stock.read(&stores) }

    /// What is wrong with the stock, at the end.
    ///
    /// - Parameter isEndKnown: whether no later answers may be missing.
    mutating func finishStock(isEndKnown: Bool) throws -> Audit {
        let (states, unnamed) = (states, unnamed)
        try stock.finish({ isEndKnown ? ($0 < states.count ? states[$0] : unnamed).revision : nil }, &stores)
        return stock.audit
    }

    /// The state of a store that no answer has named yet.
    private var unnamed: StoreState { StoreState(isWhole: isWhole, revision: isWhole ? 0 : nil) }

    private func state(of store: Int) -> StoreState { store < states.count ? states[store] : unnamed }

    private mutating func set(_ state: StoreState, of store: Int) {
        while states.count <= store { states.append(unnamed) }
        states[store] = state
        stock.reached(state, of: store, stores)
    }

    // MARK: - The verdict

    /// Checks the answer to a command.
    ///
    /// - Parameters:
    ///   - value: the answer's bytes, in a record at an offset and a time.
    ///   - original: the command's record.
    mutating func check(
        _ answer: JournalAnswer, _ value: UnsafeRawBufferPointer, _ record: AuditRecord, _ command: Command,
        _ original: AuditRecord, at times: SendTimes, _ counts: inout AuditCounts
    ) -> [Problem] {
        let head = answer.head
        if answer.role == .lost {
            counts.duplicates += 1
            guard let was = memory.formerOutcome(of: command) else {
                counts.unjudged += 1
                return []
            }
            // Otherwise the order is rejected, and the cancel carried out.
            let isPossible = was != (command.kind == .cancel ? .notMade : .cancelled)
            let right = replays[0].answer(lost: was, head)
            if isPossible, let right, value.beforeMessage?.isSame(as: right) ?? false { return [] }
            return [("is answered as lost, not as of a command that was \(was.name)", .wrong)]
        }
        let first = memory.firstAnswer(to: command)
        if head.isDuplicate {
            counts.duplicates += 1
            if let first, first.kind == command.kind {
                let isSame = replays[0].contents(of: value, head) == first.contents
                return isSame ? [] : [("is answered otherwise than at \(first.offset)", .wrong)]
            }
            guard memory.mayHaveExpired(times) else { return [("is answered as a duplicate, and was not answered before", .wrong)] }
            counts.unjudged += 1
            return []
        }
        var problems: [Problem] = []
        let difference = difference(of: answer, value, from: command, original, at: times, &counts)
        if let first, first.kind == command.kind, memory.isRemembered(first, times) {
            problems.append(("is carried out again, after \(first.offset)", .doubled))
            // The first answer repeated, only not marked as a duplicate, changed nothing.
            if difference != nil, replays[0].contents(of: value, head) == first.contents { return problems }
        }
        if let difference { problems.append((difference, .wrong)) }
        adopt(answer, value, record, command.store, sent: times, &counts)
        return problems
    }

    /// What is wrong with a first answer. A menu that explains it counts as that of the owner.
    private mutating func difference(
        of answer: JournalAnswer, _ value: UnsafeRawBufferPointer, from command: Command, _ original: AuditRecord,
        at times: SendTimes, _ counts: inout AuditCounts
    ) -> String? {
        if menus.isEmpty {
            counts.unjudged += 1
            return nil
        }
        guard let said = value.beforeMessage else { return "has an answer that does not end with a message" }
        var before = state(of: command.store)
        if before.revision == nil, answer.revision > 0 {
            before =
                answer.revision == 1
                ? StoreState(isWhole: true, revision: 0)
                : StoreState(levels: before.levels, isWhole: before.isWhole, revision: answer.revision - 1)
        }
        let store = stores[command.store]
        let isKnown = rules.stores?.contains(store)
        let unknownStore = isKnown == true ? nil : store.withUnsafeBytes { Rejection.unknown(store: BorrowedText($0)) }
        var returned: [FruitAmount] = []
        if answer.role == .cancel, case .cancelled(let amounts, _) = (try? decoder.decode(value))?.outcome { returned = amounts }
        var right: [UInt8]?
        for (place, menu) in menus.enumerated() {
            let content = place == 0 ? command.content : content(of: command, original, by: menu)
            let tasks = memory.tasks(of: command, content, at: times, unknownStore: unknownStore, returned: returned)
            for task in tasks {
                guard let expected = menu.answer(to: task, answer.head, on: before) else {
                    counts.unjudged += 1
                    return nil
                }
                if said.isSame(as: expected) {
                    if place > 0 { menus.swapAt(0, place) }
                    return nil
                }
                right = right ?? expected
            }
        }
        return "is \(answer.head.shown(in: said)), should be \(answer.head.shown(in: right ?? []))"
    }

    /// What a command asks for by another menu than the owner's.
    private func content(of command: Command, _ original: AuditRecord, by menu: Replay) -> CommandContent {
        let read = original.value.withBytes { menu.read($0, command.kind.inputTopic) }
        return if case .success(let read) = read { read.content } else { command.content }
    }

    /// Takes what an answer says for true, whether it is right or not: it should be one fault, and not one more for each answer
    /// after it.
    ///
    /// - Parameter times: when its command was sent; nil if that is not known. Then it is not remembered for repeats.
    private mutating func adopt(
        _ answer: JournalAnswer, _ value: UnsafeRawBufferPointer, _ record: AuditRecord, _ store: Int, sent times: SendTimes?,
        _ counts: inout AuditCounts
    ) {
        let head = answer.head
        var (left, taken): ([FruitAmount], [FruitAmount]) = ([], [])
        let said = try? decoder.decode(value)
        let count: WritableKeyPath<AuditCounts, Int>?
        switch said?.outcome {
        case .juiceMade(_, let amounts, let after): (count, taken, left) = (\.juicesMade, amounts, after)
        case .outOfStock: count = \.outOfStock
        case .restocked(let after): (count, left) = (\.restocked, after)
        case .cancelled(let amounts, let after): (count, taken, left) = (\.cancelled, amounts, after)
        case .rejected: count = \.rejected
        case .answerLost, nil: count = nil
        }
        if answer.revision > 0, !head.isDuplicate {
            var state = state(of: store)
            if let menu = menus.first?.menu, said != nil {
                // Fruits that are not on the menu leave the store.
                let known = menu.fruits.compactMap { fruit in state.level(of: fruit).map { (fruit.id, $0) } }
                state.levels = Dictionary(known) { $1 }
            }
            for part in left { state.levels[part.fruit] = part.amount }
            state.revision = answer.revision
            set(said == nil ? StoreState(isWhole: false) : state, of: store)
        }
        guard let times else { return }
        if let count { counts[keyPath: count] += 1 }
        guard answer.role != .unremembered else { return }
        let identity = RecordDigest(of: head)
        let order = head.command == .cancel ? AnswerHead(.order, id: head.id, store: head.store, offset: 0) : head
        memory.remember(
            AnswerMemory.FirstAnswer(
                offset: record.offset, contents: replays[0].contents(of: value, head), kind: head.command, was: answer.was,
                taken: taken, sent: times.earliest, answered: record.timestamp),
            identity, order: RecordDigest(of: order), times)
    }

    /// Takes over what an answer says that cannot be checked.
    ///
    /// - Parameter ifNew: whether only the next changes count, as those do not of a record that is there twice.
    mutating func adopt(
        _ answer: JournalAnswer, _ value: UnsafeRawBufferPointer, _ record: AuditRecord, ifNew: Bool, _ counts: inout AuditCounts
    ) {
        guard let store = stores.number(of: answer.head.store.bytes) else { return }
        if ifNew, answer.revision <= state(of: store).revision ?? -1 { return }
        adopt(answer, value, record, store, sent: nil, &counts)
    }
}

extension AnswerHead {
    /// An answer for people: its type, and all that follows this head.
    fileprivate func shown(in answer: some Sequence<UInt8>) -> String {
        let text = String(decoding: Array(answer), as: UTF8.self)
        let place = #","offset":\#(offset)"# + (from.map { #","from":"\#($0.text)""# } ?? "")
        let type = text.dropFirst(#"{"type":""#.count).prefix { $0 != "\"" }
        return "\(type)\(text.firstRange(of: place).map { text[$0.upperBound...] } ?? "")"
    }
}
