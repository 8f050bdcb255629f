import JuiceMaker
import JuiceMessages

/// The service's judgement of a message.
struct Judgement {
    /// Nil if it depends on the menu, which no schema knows.
    let isValid: Bool?
    let note: String

    static let accepted = Judgement(isValid: true, note: "accepted")

    static func rejected(_ rejection: Rejection) -> Judgement {
        let isOfMenu = rejection.reason == .unknownJuice || rejection.reason == .unknownFruit
        return Judgement(isValid: isOfMenu ? nil : false, note: rejection.reason.rawValue)
    }

    static func deadLetter(_ reason: DeadLetterReason) -> Judgement {
        Judgement(isValid: false, note: reason.code)
    }

    init(isValid: Bool?, note: String) {
        self.isValid = isValid
        self.note = note
    }

    init<Command>(_ decoded: consuming Decoded<Command>) {
        switch decoded {
        case .command: self = .accepted
        case .rejected(_, let rejection): self = .rejected(rejection)
        case .undecodable(let reason): self = .deadLetter(reason)
        }
    }

    /// The judgement of a menu file.
    init(menu file: String) {
        do throws(MenuFile.Failure) {
            _ = try BorrowedText.withText(file) { text in Result { () throws(MenuFile.Failure) in try MenuFile.decode(text.bytes) }
            }.get()
            self = .accepted
        } catch {
            let isBeyondSchema =
                switch error {
                case .invalid(let fault):
                    switch fault.problem {
                    case .duplicateID, .duplicateFruit, .unknownFruit, .ambiguousAlias: true
                    default: false
                    }
                case .malformed: false
                }
            self.init(isValid: isBeyondSchema ? nil : false, note: error.description)
        }
    }
}

extension CommandDecoder {
    /// The judgement of a value of the orders or the restocks topic.
    func judge(_ kind: CommandKind, _ value: String) -> Judgement {
        BorrowedText.withText(value) { text in
            switch kind {
            case .order, .cancel: Judgement(decodeOrder(text.bytes))
            case .restock: Judgement(decodeRestock(text.bytes))
            }
        }
    }
}
