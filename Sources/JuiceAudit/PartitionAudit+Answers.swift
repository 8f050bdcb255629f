// Whether an answer says what its command results in.

extension PartitionAudit {
    /// What a command results in by the contract, and how the answer differs.
    private struct Result {
        let outcome: Outcome
        let before: StoreState
        let after: StoreState
        let difference: String?
    }

    func judge(_ record: AuditRecord, _ command: Command, _ reference: Reference) {
        checkEnvelope(record, command, reference)
        let moment = moment(of: command, answeredAt: record.timestamp)
        if json.value("duplicate") != nil {
            count { $0.duplicates += 1 }
            judgeDuplicate(record, command, reference, moment)
        } else {
            judgeFirst(record, command, reference, moment)
        }
    }

    private func checkEnvelope(_ record: AuditRecord, _ command: Command, _ reference: Reference) {
        if !isKey(record.key, reference.store) {
            report(.wrong, record, "its key is not its store, \(storeName(reference.store))")
        }
        let asked = command.record.headers
        if !asked.isEmpty || !record.headers.isEmpty, asked.traces != record.headers.traces {
            report(.wrong, record, "\(describe(reference)): its trace headers are not the command's")
        }
    }

    private func judgeDuplicate(
        _ record: AuditRecord,
        _ command: Command,
        _ reference: Reference,
        _ moment: SendTimes.Moment
    ) {
        guard let first = memory.firstAnswer(to: command), first.kind == command.kind else {
            if memory.mayHaveExpired(moment) || memory.mayBeUncancelled(command) {
                return count { $0.unjudged += 1 }
            }
            let problem = "\(describe(reference)) is answered as a duplicate, and is none"
            return report(.wrong, record, problem)
        }
        // Token 3 is the name of the second member, after the object, the first name and the type.
        let isInPlace =
            json.tokens.count > 4 && isSame(json.text(3), "duplicate") && json.tokens[4].kind == .yes
        if !isInPlace {
            report(.wrong, record, "its duplicate is not true, or not right after its type")
        }
        if !AnswerContents(json).repeats(first.contents, isRejected: check.isType("rejected")) {
            report(.wrong, record, "\(describe(reference)) is answered otherwise than at \(first.offset)")
        }
    }

    private func judgeFirst(
        _ record: AuditRecord,
        _ command: Command,
        _ reference: Reference,
        _ moment: SendTimes.Moment
    ) {
        let first = memory.firstAnswer(to: command)
        let tasks = memory.tasks(of: command, at: moment, returned: check.returned)
        let contents = AnswerContents(json)
        var result = carryOut(tasks, ledger[reference.store])
        if let first, first.kind == command.kind, memory.isRemembered(first, moment) {
            report(.doubled, record, "\(describe(reference)) is carried out again, after \(first.offset)")
            // The first answer repeated, only not marked as a duplicate, changed nothing.
            if contents == first.contents, result.difference != nil { return }
        }
        if let doubted = ledger.doubt(of: reference.store) {
            let other = carryOut(tasks, doubted)
            let isOther = result.difference != nil && other.difference == nil
            if isOther {
                ledger.settleDoubt(of: reference.store)
                result = other
            }
            let isUndecided = !isOther && result.difference == nil && other.difference == nil
            ledger.setDoubt(of: reference.store, isUndecided ? other.after : nil)
        }
        let sent = firstMoment(moment, of: command.kind)
        memory.remember(contents, at: record.offset, command, result.outcome, moment, first: sent)
        count(result.outcome)
        if let difference = result.difference {
            report(.wrong, record, "\(describe(reference)): \(difference)")
            goOn(after: result, reference.store, settlement(of: command))
        } else if result.outcome.isChange {
            if !check.hasRevision { count { $0.withoutRevision += 1 } }
            ledger.change(reference.store, to: result.after, settlement: settlement(of: command))
        } else {
            ledger.learn(reference.store, result.after)
        }
    }

    /// The outcome of the first of these tasks that the answer agrees with, or else of the very first.
    private func carryOut(_ tasks: [Command.Task], _ state: StoreState) -> Result {
        let results = tasks.lazy.map { self.carryOut($0, state) }
        return results.first { $0.difference == nil } ?? results[0]
    }

    private func carryOut(_ task: Command.Task, _ state: StoreState) -> Result {
        let check = check
        let before = check.completed(state, by: task)
        var after = before
        let task = check.unjudgedReason(before, task).map(Command.Task.reject) ?? task
        let outcome = Outcome(of: task, on: &after)
        let difference = check.difference(from: outcome, before: before, after: after)
        return Result(outcome: outcome, before: before, after: check.told(after), difference: difference)
    }

    /// A wrong answer should be one fault, not one more for each answer after it. So the store may be as the replay has it or
    /// as the answer says, until a later answer decides.
    private func goOn(after result: Result, _ store: Int, _ settlement: Ledger.Settlement) {
        if result.outcome.isChange, check.isType(result.outcome.type) {
            ledger.change(store, to: result.after, settlement: settlement)
            ledger.setDoubt(of: store, check.claimed(from: result.before, result.after.levels))
        } else if let claimed = check.claimed(from: result.before, result.before.levels),
            claimed != result.before
        {
            ledger.change(store, to: claimed, settlement: settlement)
        }
    }

    private func count(_ outcome: Outcome) {
        count { counts in
            switch outcome {
            case .juiceMade: counts.juicesMade += 1
            case .outOfStock: counts.outOfStock += 1
            case .restocked: counts.restocked += 1
            case .cancelled: counts.cancelled += 1
            case .rejected: counts.rejected += 1
            }
        }
    }
}
