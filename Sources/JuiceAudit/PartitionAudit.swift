/// Judges one partition: replays its answers in their order.
///
/// Each must answer the command that is due, and say what follows from the contract. What is held grows with the partition's
/// stores and with the duplicate window, not with its records.
final class PartitionAudit {
    /// What the audit of one partition found.
    struct Findings: Sendable {
        var list = FaultList()
        var counts = AuditCounts()
        /// Commands without an answer. They may have a dead letter instead, which may be in another partition.
        var unanswered: [UnansweredCommand] = []
        /// From which answer on it could judge; nil from the very first.
        var start: AuditStart?
        var deadLetters: DeadLetterAudit
    }

    let partition: Int
    let rules: AuditRules
    private var findings: Findings
    private var answers: AnswerQueue
    private var orders: Alignment
    private var restocks: Alignment
    private var orderTimes = SendTimes()
    private var restockTimes = SendTimes()
    private var intake: Intake
    private var stock: StockAudit
    var memory: AnswerMemory
    var ledger: Ledger
    var json = JSONReader()

    typealias Reference = AnswerQueue.Reference

    init(
        _ source: some AuditSource,
        partition: Int,
        _ rules: AuditRules,
        _ forwards: ForwardAudit
    ) throws {
        (self.partition, self.rules) = (partition, rules)
        let menu = rules.menu
        var results = RecordCursor(source, .results, partition)
        let areWhole = results.bounds.first == 0
        let expiredUntil = areWhole ? nil : try results.peek()?.timestamp
        answers = AnswerQueue(results, menu)
        orders = Alignment(RecordCursor(source, .orders, partition), .orders, areAnswersWhole: areWhole)
        restocks = Alignment(RecordCursor(source, .restocks, partition), .restocks, areAnswersWhole: areWhole)
        let letters = DeadLetterAudit(
            RecordCursor(source, .deadLetters, partition),
            partition: partition,
            rules
        )
        intake = Intake(partition: partition, rules, letters, forwards)
        findings = Findings(deadLetters: letters)
        stock = StockAudit(RecordCursor(source, .stock, partition), partition: partition, menu)
        memory = AnswerMemory(rules)
        if let expiredUntil { memory.forget(until: expiredUntil) }
        ledger = Ledger(menu, isWhole: areWhole)
    }

    /// Judges all answers.
    func run() throws -> Findings {
        while let record = try answers.next() {
            try judge(record)
            try stock.advance(&intake.names, &ledger)
        }
        try reportUnanswered(&orders)
        try reportUnanswered(&restocks)
        try stock.finish(&intake.names, &ledger)
        try intake.deadLetters.finish()
        findings.list.add(stock.list)
        findings.deadLetters = intake.deadLetters
        findings.counts.records = intake.recordCount
        findings.counts.commands = intake.commandCount
        findings.counts.unjudged += orders.unjudged + restocks.unjudged
        findings.counts.stores = intake.names.owners.count { $0 == partition }
        return findings
    }

    private func reportUnanswered(_ alignment: inout Alignment) throws {
        for command in alignment.takePassedOver() { addUnanswered(command) }
        while let command = try alignment.takeNext(&intake) {
            if command.record.offset >= alignment.bounds.settled {
                findings.counts.open += 1
            } else if alignment.isSynchronized || answers.isWhole {
                addUnanswered(command)
            } else {
                findings.counts.unjudged += 1
            }
        }
    }

    private func addUnanswered(_ command: Command) {
        let place = Place(topic: command.kind.topic, partition: partition, offset: command.record.offset)
        let problem = "\(intake.describe(command)) has no answer"
        guard findings.unanswered.count < FaultList.longest else {
            return findings.list.add(.missing, place.topic, partition, place.offset, problem)
        }
        let letter = ExpectedLetter(command.record, [.unanswerable], necessity: .required)
        findings.unanswered.append(UnansweredCommand(place: place, problem: problem, letter: letter))
    }

    private func judge(_ record: AuditRecord) throws {
        findings.counts.answers += 1
        guard let value = record.value else { return report(.wrong, record, "the answer has no value") }
        try value.withUnsafeBufferPointer { value in
            guard json.read(value), json.tokens[0].kind == .object else {
                return report(.wrong, record, "the answer is not a JSON object")
            }
            guard let reference = check.reference(&intake.names) else {
                return report(.wrong, record, "it answers no command there is: \(quoted(value))")
            }
            guard intake.names.owners[reference.store] == partition else {
                let owner = intake.names.owners[reference.store]
                return report(.wrong, record, "\(describe(reference)) belongs to partition \(owner)")
            }
            guard try synchronize(record, reference) else { return follow(record, unjudged: reference) }
            switch try match(reference) {
            case .command(let command):
                judge(record, command, reference)
            case .late(let command):
                report(.wrong, record, "\(describe(reference)) is answered out of order")
                judge(record, command, reference)
            case .none:
                reportSurplus(record, reference, value)
            }
        }
    }

    private func match(_ reference: Reference) throws -> Alignment.Match {
        reference.kind == .restock ? try match(reference, &restocks) : try match(reference, &orders)
    }

    private func match(
        _ reference: Reference,
        _ alignment: inout Alignment
    ) throws -> Alignment.Match {
        if rules.versions == .alsoOlder {
            try alignment.confuseDue(with: reference, isDuplicate: json.value("duplicate") != nil, &intake)
        }
        let due = try alignment.due(&intake)?.identity
        var distance: Int? = 0
        if due != reference.identity {
            distance = try due.flatMap { due in
                try answers.distance(to: due, of: alignment.topic, &intake.names)
            }
        }
        defer { for command in alignment.takeLost() { addUnanswered(command) } }
        return try alignment.match(reference.identity, distanceToDue: distance, &intake)
    }

    /// A surplus answer may still have changed the stock.
    private func reportSurplus(
        _ record: AuditRecord,
        _ reference: Reference,
        _ value: UnsafeBufferPointer<UInt8>
    ) {
        let first = memory[reference.identity]
        if first == nil {
            report(.wrong, record, "it answers no command there is: \(quoted(value))")
        } else {
            report(.doubled, record, "\(describe(reference)) is answered once too often")
        }
        guard json.value("duplicate") == nil, first?.contents != AnswerContents(json) else { return }
        let state = ledger[reference.store]
        if let claimed = check.claimed(from: state, state.levels), claimed != state {
            ledger.change(reference.store, to: claimed, settlement: .open)
        }
    }

    // MARK: - Where the beginning has expired

    private func synchronize(_ record: AuditRecord, _ reference: Reference) throws -> Bool {
        reference.kind == .restock
            ? try synchronize(record, reference, &restocks) : try synchronize(record, reference, &orders)
    }

    private func synchronize(
        _ record: AuditRecord,
        _ reference: Reference,
        _ alignment: inout Alignment
    ) throws -> Bool {
        if alignment.isSynchronized { return true }
        let others = try answers.identities(of: alignment.topic, atMost: 7, &intake.names)
        let isFound = try alignment.synchronize(
            [reference.identity] + others.identities,
            areLast: others.areLast,
            answeredAt: record.timestamp,
            areAnswersWhole: answers.isWhole,
            &intake
        )
        if isFound, !answers.isWhole || alignment.bounds.first > 0, findings.start == nil {
            findings.start = AuditStart(
                partition: partition,
                offset: record.offset,
                timestamp: record.timestamp
            )
        }
        return isFound
    }

    /// The command of an answer has expired, so nobody knows whether the answer is right. What it says of the stock counts.
    private func follow(_ record: AuditRecord, unjudged reference: Reference) {
        findings.counts.unjudged += 1
        memory.forget(until: record.timestamp)
        guard json.value("duplicate") == nil else { return }
        let state = ledger[reference.store]
        guard var claimed = check.claimed(from: state, state.levels), claimed != state else { return }
        claimed = check.told(claimed)
        ledger.change(reference.store, to: claimed, settlement: .open)
    }
}

// MARK: - Helpers

extension PartitionAudit {
    var check: AnswerCheck { AnswerCheck(json: json, menu: rules.menu, versions: rules.versions) }

    func describe(_ reference: Reference) -> String {
        intake.names.describe(reference.kind, check.id, store: reference.store)
    }

    /// Whether the key names this store.
    func isKey(_ key: [UInt8]?, _ store: Int) -> Bool {
        key?.withUnsafeBufferPointer { intake.names.stores.find($0) == store } ?? false
    }

    func storeName(_ store: Int) -> String { quoted(intake.names.stores[store]) }

    func moment(of command: Command, answeredAt time: Int64) -> SendTimes.Moment {
        command.kind == .restock
            ? restockTimes.read(command, answeredAt: time) : orderTimes.read(command, answeredAt: time)
    }

    func firstMoment(_ moment: SendTimes.Moment, of kind: CommandKind) -> SendTimes.Moment {
        kind == .restock ? restockTimes.first(moment) : orderTimes.first(moment)
    }

    /// Whether the stock record of a change that a command made must be there.
    func settlement(of command: Command) -> Ledger.Settlement {
        let bounds = command.kind == .restock ? restocks.bounds : orders.bounds
        return command.record.offset < bounds.settled ? .settled : .open
    }

    func count(_ change: (inout AuditCounts) -> Void) { change(&findings.counts) }

    func report(_ category: Fault.Category, _ record: AuditRecord, _ problem: String) {
        findings.list.add(category, .results, partition, record.offset, problem)
    }
}

/// A command without an answer.
struct UnansweredCommand {
    let place: Place
    let problem: String
    /// The dead letter that it may have instead.
    let letter: ExpectedLetter
}
