/// Replays the answers of one partition in their order.
///
/// Each must answer the command that is due, and say what follows from the contract.
struct Replay {
    private(set) var list = FaultList()
    private(set) var counts = AuditCounts()

    private let partition: Int
    private let topics: AuditTopics
    let rules: AuditRules
    private let records: [AuditRecord]
    private var alignments: [AuditTopic: Alignment]
    var times: SendTimes
    /// What a repeat of each identity gets. A cancel takes the place of its order; one that was rejected has its own.
    var memory: [Int: FirstAnswer] = [:]
    var firstAnswerCount = 0
    private var json = JSONReader()
    private var other = JSONReader()

    struct FirstAnswer {
        let index: Int
        let kind: CommandKind
        /// What an order took, or what its cancel has put back.
        let taken: [Contract.Amount]
        /// The number of first answers before it.
        let number: Int
        let moment: SendTimes.Moment
    }

    /// What a command results in by the contract, and how the answer differs.
    private struct Result {
        let outcome: Outcome
        let before: StoreState
        let after: StoreState
        let difference: String?
    }

    /// The command that an answer names.
    private typealias Reference = Names.Command

    init(_ topics: AuditTopics, partition: Int, _ intake: Intake, _ rules: AuditRules) {
        self.topics = topics
        self.partition = partition
        self.rules = rules
        records = topics.results.indices.contains(partition) ? topics.results[partition] : []
        times = SendTimes(topics, partition: partition, rules)
        alignments = intake.commands.mapValues { commands in
            Alignment(commands.indices.contains(partition) ? commands[partition] : [])
        }
    }

    /// Judges all answers.
    mutating func run(_ names: inout Names, _ ledger: inout Ledger) {
        for index in records.indices { judge(index, &names, &ledger) }
        for topic in AuditTopic.inputs {
            for command in alignments[topic]?.unanswered ?? [] {
                let offset = topics[topic][partition][command.index].offset
                let reference = Names.Command(
                    kind: command.kind,
                    store: command.store,
                    identity: command.identity
                )
                let problem = "\(names.describe(reference)) has no answer"
                list.add(.missing, topic, partition, offset, problem)
            }
        }
    }

    private mutating func judge(_ index: Int, _ names: inout Names, _ ledger: inout Ledger) {
        let record = records[index]
        counts.answers += 1
        guard let value = record.value else { return report(.wrong, record, "the answer has no value") }
        value.withUnsafeBufferPointer { value in
            guard json.read(value), json.tokens[0].kind == .object else {
                return report(.wrong, record, "the answer is not a JSON object")
            }
            guard let reference = reference(json, &names) else {
                report(.wrong, record, "it answers no command there is: \(quoted(value))")
                let store = json.value("store").flatMap(json.string).flatMap(names.stores.find)
                return follow(record, store, nil, &ledger)
            }
            switch match(reference, index, &names) {
            case .command(let command):
                judge(index, command, reference, names, &ledger)
            case .late(let command):
                report(.wrong, record, "\(names.describe(reference)) is answered out of order")
                judge(index, command, reference, names, &ledger)
            case .none where names.owners[reference.store] != partition:
                let owner = names.owners[reference.store]
                report(.wrong, record, "\(names.describe(reference)) belongs to partition \(owner)")
            case .none:
                report(.doubled, record, "\(names.describe(reference)) is answered once too often")
                follow(record, reference.store, memory[reference.identity], &ledger)
            }
        }
    }

    private mutating func match(
        _ reference: Reference,
        _ index: Int,
        _ names: inout Names
    ) -> Alignment.Match {
        let topic = reference.kind.topic
        let due = alignments[topic]?.due
        let distance = due == reference.identity ? 0 : distance(to: due, after: index, topic, &names)
        return alignments[topic]?.match(reference.identity, distanceToDue: distance) ?? .none
    }

    /// How many answers to commands of this topic ahead the one to `identity` is.
    private mutating func distance(
        to identity: Int?,
        after index: Int,
        _ topic: AuditTopic,
        _ names: inout Names
    ) -> Int? {
        guard let identity else { return nil }
        var distance = 0
        for record in records[(index + 1)...].prefix(Alignment.lookahead) {
            let found = record.value?.withUnsafeBufferPointer { value in
                other.read(value) ? reference(other, &names) : nil
            }
            guard let found, found.kind.topic == topic else { continue }
            distance += 1
            if found.identity == identity { return distance }
        }
        return nil
    }

    private func reference(_ json: JSONReader, _ names: inout Names) -> Reference? {
        for topic in AuditTopic.inputs {
            guard let id = json.value(topic.idField).flatMap(json.string) else { continue }
            let kind: CommandKind = topic == .restocks ? .restock : isOfCancel(json) ? .cancel : .order
            guard let name = json.value("store").flatMap(json.string), let store = names.stores.find(name),
                let identity = names.findIdentity(kind, store: store, id: id)
            else { return nil }
            return Reference(kind: kind, store: store, identity: identity)
        }
        return nil
    }

    /// Whether an answer with an order's id is that of a cancel. No order is rejected because fruits would be too many.
    private func isOfCancel(_ json: JSONReader) -> Bool {
        let check = AnswerCheck(json: json)
        return check.isType("cancelled") || check.isRejected(.wouldOverflow)
    }
}

// MARK: - Contents

extension Replay {
    private mutating func judge(
        _ index: Int,
        _ command: Command,
        _ reference: Reference,
        _ names: Names,
        _ ledger: inout Ledger
    ) {
        let record = records[index]
        checkEnvelope(record, command, reference, names)
        if json.value("duplicate") != nil {
            counts.duplicates += 1
            judgeDuplicate(record, command, reference, names)
        } else {
            judgeFirst(index, command, reference, names, &ledger)
        }
    }

    private mutating func judgeDuplicate(
        _ record: AuditRecord,
        _ command: Command,
        _ reference: Reference,
        _ names: Names
    ) {
        guard let first = firstAnswer(to: command), first.kind == command.kind else {
            let problem = "\(names.describe(reference)) is answered as a duplicate, and is none"
            return report(.wrong, record, problem)
        }
        // Token 3 is the name of the second member, after the object, the first name and the type.
        let isInPlace =
            json.tokens.count > 4 && isSame(json.text(3), "duplicate") && json.tokens[4].kind == .yes
        if !isInPlace {
            report(.wrong, record, "its duplicate is not true, or not right after its type")
        }
        let isRepetition = records[first.index].value?.withUnsafeBufferPointer { value in
            other.read(value) && json.repeats(other)
        }
        if isRepetition != true {
            let problem =
                "\(names.describe(reference)) is answered otherwise than at \(records[first.index].offset)"
            report(.wrong, record, problem)
        }
    }

    private mutating func judgeFirst(
        _ index: Int,
        _ command: Command,
        _ reference: Reference,
        _ names: Names,
        _ ledger: inout Ledger
    ) {
        let record = records[index]
        let moment = times.read(command, answeredAt: record.timestamp)
        let first = firstAnswer(to: command)
        let isKnown = first.map { isRemembered($0, moment) } ?? false
        let tasks = tasks(of: command, at: moment)
        var result = carryOut(tasks, ledger[reference.store])
        if let first, isKnown, first.kind == command.kind {
            let problem =
                "\(names.describe(reference)) is carried out again, after \(records[first.index].offset)"
            report(.doubled, record, problem)
            // The first answer repeated, only not marked as a duplicate, changed nothing.
            let isSame = record.value == records[first.index].value
            if isSame, result.difference != nil { return }
        }
        if let doubted = ledger.doubts[reference.store] {
            let other = carryOut(tasks, doubted)
            let isOther = result.difference != nil && other.difference == nil
            if isOther {
                ledger.settle(reference.store)
                result = other
            }
            ledger.doubts[reference.store] =
                !isOther && result.difference == nil && other.difference == nil ? other.after : nil
        }
        remember(index, command, result.outcome, moment)
        count(result.outcome)
        if let difference = result.difference {
            report(.wrong, record, "\(names.describe(reference)): \(difference)")
            goOn(after: result, reference.store, &ledger)
        } else if result.outcome.isChange {
            if !AnswerCheck(json: json).hasRevision { counts.withoutRevision += 1 }
            ledger.change(reference.store, to: result.after)
        }
    }

    /// The outcome of the first of these tasks that the answer agrees with, or else of the very first.
    private func carryOut(_ tasks: [Command.Task], _ before: StoreState) -> Result {
        let results = tasks.lazy.map { task in
            var after = before
            let outcome = Outcome(of: task, on: &after)
            let difference = AnswerCheck(json: json).difference(from: outcome, before: before, after: after)
            return Result(outcome: outcome, before: before, after: after, difference: difference)
        }
        return results.first { $0.difference == nil } ?? results[0]
    }

    /// A wrong answer should be one fault, not one more for each answer after it. So the store may be as the replay has it or
    /// as the answer says, until a later answer decides.
    private func goOn(after result: Result, _ store: Int, _ ledger: inout Ledger) {
        let check = AnswerCheck(json: json)
        if result.outcome.isChange, check.isType(result.outcome.type) {
            ledger.change(store, to: result.after)
            ledger.doubts[store] = check.claimed(from: result.before, result.after.levels)
        } else if let claimed = check.claimed(from: result.before, result.before.levels),
            claimed != result.before
        {
            ledger.change(store, to: claimed)
        }
    }

    /// A surplus answer may still have changed the stock.
    private func follow(
        _ record: AuditRecord,
        _ store: Int?,
        _ first: FirstAnswer?,
        _ ledger: inout Ledger
    ) {
        guard let store, json.value("duplicate") == nil else { return }
        if let first, records[first.index].value == record.value { return }
        let state = ledger[store]
        if let claimed = AnswerCheck(json: json).claimed(from: state, state.levels), claimed != state {
            ledger.change(store, to: claimed)
        }
    }

    private mutating func checkEnvelope(
        _ record: AuditRecord,
        _ command: Command,
        _ reference: Reference,
        _ names: Names
    ) {
        let isKeyRight = record.key?.withUnsafeBufferPointer { key in
            names.stores.find(key) == reference.store
        }
        if isKeyRight != true {
            report(.wrong, record, "its key is not its store, \(quoted(names.stores[reference.store]))")
        }
        let asked = topics[command.kind.topic][partition][command.index].headers
        if !asked.isEmpty || !record.headers.isEmpty, asked.traces != record.headers.traces {
            report(.wrong, record, "\(names.describe(reference)): its trace headers are not the command's")
        }
    }

    private mutating func count(_ outcome: Outcome) {
        switch outcome {
        case .juiceMade: counts.juicesMade += 1
        case .outOfStock: counts.outOfStock += 1
        case .restocked: counts.restocked += 1
        case .cancelled: counts.cancelled += 1
        case .rejected: counts.rejected += 1
        }
    }

    private mutating func report(_ category: Fault.Category, _ record: AuditRecord, _ problem: String) {
        list.add(category, .results, partition, record.offset, problem)
    }
}
