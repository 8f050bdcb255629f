import JuiceDomain

/// Why a command is rejected, with the details for its message. Fruits are indices of the menu; texts of the sender are already
/// clipped.
public enum Rejection: Error, Hashable {
    /// The service knows its stores, and this is not one of them.
    case unknownStore(String)
    case unknownJuice(String)
    case unknownFruit(String)
    /// The quantity is not an integer, or not one of `JuiceOrder.quantities`.
    case badQuantity
    /// The amount for a fruit is not an integer of 64 bits.
    case badAmount(fruit: Int)
    /// The store refused the edit, or fruits that are returned.
    case outOfRange(StockEditError)
    case emptyRestock
    case badCommand(Fault)
    case cancelled

    /// What can be wrong with the structure of a command.
    public enum Fault: Hashable, Sendable {
        case missingJuice, juiceNotText, juiceAndItems, quantityAndItems, noItems, tooManyItems, itemNotAnObject, addAndSet
        case notAnObject(String), notAnArray(String), notBoolean(String)
        case repeatedField(String)
        case repeatedFruit(fruit: Int)
    }

    /// The codes in the field `reason` of an answer. The list is closed.
    public enum Reason: String, Hashable, Sendable, CaseIterable {
        case unknownStore, unknownJuice, unknownFruit, badQuantity, badAmount, wouldGoNegative, wouldOverflow, emptyRestock
        case badCommand, cancelled
    }

    /// The code of this rejection.
    public var reason: Reason {
        switch self {
        case .unknownStore: .unknownStore
        case .unknownJuice: .unknownJuice
        case .unknownFruit: .unknownFruit
        case .badQuantity: .badQuantity
        case .badAmount: .badAmount
        case .outOfRange(.wouldGoNegative): .wouldGoNegative
        case .outOfRange(.wouldOverflow): .wouldOverflow
        case .emptyRestock: .emptyRestock
        case .badCommand: .badCommand
        case .cancelled: .cancelled
        }
    }

    /// The rejection of a command to a store that the service does not know.
    public static func unknown(store: BorrowedText) -> Rejection { .unknownStore(store.clipped()) }
}

extension AnswerMessages {
    func message(for rejection: Rejection) -> String {
        switch rejection {
        // Quoted with escapes: the name may differ from a known one only in something invisible.
        case .unknownStore(let id): text("no store is called \(StoreID.quoted(id))", "등록되지 않은 매장이에요: \(StoreID.quoted(id))")
        case .unknownJuice(let id): text("no juice is called \"\(id)\"", "메뉴에 없는 쥬스예요: \"\(id)\"")
        case .unknownFruit(let id): text("no fruit is called \"\(id)\"", "메뉴에 없는 과일이에요: \"\(id)\"")
        case .badQuantity: text("the quantity must be a whole number from 1 to 100", "수량은 1부터 100까지의 정수여야 해요")
        case .badAmount(let fruit): text("the amount of \(name(fruit)) must be a whole number", "\(name(fruit)) 수량은 정수여야 해요")
        case .outOfRange(.wouldGoNegative(let fruit, let inStock)):
            text(
                "\(name(fruit)) cannot go below 0 (in stock: \(inStock))", "\(name(fruit)) 재고는 0보다 작아질 수 없어요 (현재 \(inStock)개)")
        case .outOfRange(.wouldOverflow(let fruit, let inStock)):
            text(
                "\(name(fruit)) cannot go above \(FruitStore.maximumLevel) (in stock: \(inStock))",
                "\(name(fruit)) 재고는 \(FruitStore.maximumLevel)개를 넘을 수 없어요 (현재 \(inStock)개)")
        case .emptyRestock:
            text(
                "the restock names no fruit, neither in \"add\" nor in \"set\"", "수정할 과일이 없어요. \"add\"나 \"set\"에 과일을 적어 주세요")
        case .badCommand(let fault): message(for: fault)
        case .cancelled: text("the order was cancelled", "취소된 주문이에요")
        }
    }

    private func message(for fault: Rejection.Fault) -> String {
        switch fault {
        case .missingJuice: text("the order names no juice", "주문에 쥬스가 없어요")
        case .juiceNotText: text("the juice must be a string", "쥬스는 문자열이어야 해요")
        case .juiceAndItems:
            text("an order has either \"juice\" or \"items\", not both", "\"juice\"와 \"items\"는 함께 쓸 수 없어요")
        case .quantityAndItems:
            text("the quantities of a basket stand in its \"items\"", "장바구니의 수량은 \"items\" 안에 적어 주세요")
        case .noItems: text("\"items\" is empty", "\"items\"가 비어 있어요")
        case .tooManyItems:
            text("a basket holds at most \(JuiceOrder.mostItems) items", "한 번에 \(JuiceOrder.mostItems)가지까지만 주문할 수 있어요")
        case .itemNotAnObject: text("an item must be an object with a juice and a quantity", "주문 항목은 쥬스와 수량을 담은 객체여야 해요")
        case .addAndSet: text("a restock has either \"add\" or \"set\", not both", "\"add\"와 \"set\"은 함께 쓸 수 없어요")
        case .notAnArray(let field): text("\"\(field)\" must be an array", "\"\(field)\" 값은 배열이어야 해요")
        case .notBoolean(let field): text("\"\(field)\" must be true or false", "\"\(field)\" 값은 true나 false여야 해요")
        case .notAnObject(let field):
            text("\"\(field)\" must be an object of amounts by fruit", "\"\(field)\" 값은 과일별 수량을 담은 객체여야 해요")
        case .repeatedField(let field): text("\"\(field)\" is given twice", "\"\(field)\" 필드가 두 번 나왔어요")
        case .repeatedFruit(let fruit):
            text("\(name(fruit)) is given twice", "\(KoreanParticle.subject.attached(to: name(fruit))) 두 번 나왔어요")
        }
    }

    private func name(_ fruit: Int) -> String { menu.fruits[fruit].name.text(in: language) }
}
